"""Where issues, their comments and labels are stored."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from servers.backends import clock, parameters
from servers.backends.errors import NotFound
from servers.backends.storage import Instant, Row, insert_new, metadata, reading, writing

_issues = sa.Table(
    "issues",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("repo", sa.String, nullable=False, index=True),
    sa.Column("title", sa.String, nullable=False),
    sa.Column("body", sa.String, nullable=False),
    sa.Column("labels", sa.JSON, nullable=False),
    sa.Column("due_date", sa.Date),
    sa.Column("state", sa.String, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
)
_comments = sa.Table(
    "issue_comments",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("issue", sa.ForeignKey("issues.number"), nullable=False, index=True),
    sa.Column("body", sa.String, nullable=False),
)
_labels = sa.Table(
    "labels",
    metadata,
    sa.Column("repo", sa.String, primary_key=True),
    sa.Column("name", sa.String, primary_key=True),
    sa.Column("color", sa.String, nullable=False),
    sa.Column("description", sa.String, nullable=False),
)
# One row for each title that was used, so that two calls at once wait for each other on it.
_titles = sa.Table(
    "recent_titles",
    metadata,
    sa.Column("repo", sa.String, primary_key=True),
    sa.Column("title", sa.String, primary_key=True),
    sa.Column("issue", sa.Integer),
)
PLAIN_COLOR = "#ededed"


def create(connection: sa.Connection, **fields: Any) -> Row:
    """Insert an issue: repo, title, body, labels, due_date. Labels that the repository hasn't are made."""
    for label in fields["labels"]:
        row = {"repo": fields["repo"], "name": label, "color": PLAIN_COLOR, "description": ""}
        insert_new(connection, _labels, row)
    values = {**fields, "state": "open", "created_at": clock.now()}
    number = connection.execute(_issues.insert().values(values)).inserted_primary_key
    assert number is not None
    return _one(connection, number[0])


def create_unless_recent(window: timedelta, **fields: Any) -> tuple[Row, bool]:
    """The issue with this repo and title that is younger than `window`, or a new one; and whether it is new."""
    with writing() as connection:
        mine = sa.and_(_titles.c.repo == fields["repo"], _titles.c.title == fields["title"])
        insert_new(connection, _titles, {"repo": fields["repo"], "title": fields["title"]})
        last = connection.execute(sa.select(_titles.c.issue).where(mine).with_for_update()).scalar()
        if last is not None:
            issue = _one(connection, last)
            if clock.now() - issue["created_at"] < window:
                return issue, False
        issue = create(connection, **fields)
        connection.execute(_titles.update().where(mine).values(issue=_number(issue["issue_id"])))
    return issue, True


def get(issue_id: str) -> Row:
    """One issue.

    Raises:
        NotFound: There is none with this id.
    """
    with reading() as connection:
        return _one(connection, _number(issue_id))


def page(repo: str, state: str, limit: int, cursor: str | None) -> dict[str, Any]:
    """One page of a repository's issues, the newest first: the fields of a Page."""
    before = parameters.read_cursor(cursor, int, repo=repo, state=state)
    asked = sa.select(_shown).where(_shown.c.repo == repo).order_by(_shown.c.number.desc()).limit(limit + 1)
    if state != "all":
        asked = asked.where(_shown.c.state == state)
    if before is not None:
        asked = asked.where(_shown.c.number < before)
    with reading() as connection:
        rows = [_row(row) for row in connection.execute(asked).mappings()]
    for row in rows:
        if len(row["body"]) > 200:
            row["body"] = f"{row['body'][:200]}… (cut; get_issue has all {len(row['body'])} characters)"
    return parameters.page(rows, limit, lambda row: _number(row["issue_id"]), "issues", repo=repo, state=state)


def comment(connection: sa.Connection, issue_id: str, body: str) -> Row:
    """Insert a comment.

    Raises:
        NotFound: There is no such issue.
    """
    number = _number(issue_id)
    _one(connection, number)
    made = connection.execute(_comments.insert().values(issue=number, body=body)).inserted_primary_key
    assert made is not None
    return {"comment_id": f"COM-{made[0]}", "issue_id": issue_id, "body": body}


def close(issue_id: str) -> Row:
    """Set an issue's state to closed.

    Raises:
        NotFound: There is none with this id.
    """
    number = _number(issue_id)
    with writing() as connection:
        connection.execute(_issues.update().where(_issues.c.number == number).values(state="closed"))
        return _one(connection, number)


def upsert_label(**values: Any) -> Row:
    """Insert a label (repo, name, color, description), or overwrite the one with this name."""
    with writing() as connection:
        if not insert_new(connection, _labels, values):
            mine = sa.and_(_labels.c.repo == values["repo"], _labels.c.name == values["name"])
            connection.execute(_labels.update().where(mine).values(values))
    return values


_shown = sa.select(
    _issues,
    sa.select(sa.func.count()).where(_comments.c.issue == _issues.c.number).scalar_subquery().label("comments"),
).subquery()


def _one(connection: sa.Connection, number: int) -> Row:
    row = connection.execute(sa.select(_shown).where(_shown.c.number == number)).mappings().first()
    if row is None:
        raise NotFound(f"There is no issue ISS-{number}; list_issues shows which there are.")
    return _row(row)


def _row(row: Mapping[Any, Any]) -> Row:
    values = dict(row)
    return {"issue_id": f"ISS-{values.pop('number')}", **values}


def _number(issue_id: str) -> int:
    return int(issue_id.removeprefix("ISS-"))
