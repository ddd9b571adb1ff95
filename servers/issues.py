"""Issues of software projects: to create, read, list, comment, close and label them.

The server stores them itself, so key, issue and stored result are one transaction: `create_issue` and
`add_issue_comment` have their effect once for each key. Closing and labelling need no key, since doing them twice is
doing them once.

`natural` is the same creation without a key, as a variant to compare: an issue with the repository and title of one
that is five minutes old at most is taken for a repetition. No caller has to know about keys; and two different issues
with one title become one.
"""

from datetime import date, datetime, timedelta
from typing import Annotated, Any, Literal, TypeAlias

from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

from servers.backends import issues as store
from servers.backends import keys
from servers.backends.parameters import LINE, TEXT, Cursor, IdempotencyKey, Page, PageSize, UniqueItems
from servers.backends.production import DATABASE, production
from servers.backends.serve import serve

mcp = production("issues", "Issues of software projects. It knows no source code, branches or merge requests.")
natural = production("issues", "Creates issues of software projects; repetitions are recognised by their title.")

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)

Repo: TypeAlias = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9_.-]{1,50}/[A-Za-z0-9_.-]{1,50}$", description="owner/name, such as acme/web-shop.")
]
IssueId: TypeAlias = Annotated[str, Field(pattern=r"^ISS-[1-9][0-9]{0,8}$", description="Such as ISS-12.")]
Title: TypeAlias = Annotated[str, Field(pattern=LINE, max_length=256, description="One line, 1 to 256 characters.")]
Body: TypeAlias = Annotated[
    str, Field(pattern=TEXT, max_length=65_536, description="Markdown, up to 65,536 characters.")
]
Label: TypeAlias = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,49}$")]
Labels: TypeAlias = Annotated[
    list[Label],
    Field(max_length=10, description="Up to 10 different names in lower case, such as bug; unknown ones are made."),
    *UniqueItems,
]


class Issue(BaseModel):
    """One issue."""

    issue_id: str
    repo: str
    title: str
    body: str
    labels: list[str]
    due_date: date | None
    state: Literal["open", "closed"]
    comments: int
    created_at: datetime


class Created(BaseModel):
    """The issue, and whether this call made it (false: an earlier call did, and this one repeated it)."""

    created: bool
    issue: Issue


class Comment(BaseModel):
    """One comment, and whether this call made it."""

    created: bool
    comment_id: str
    issue_id: str
    body: str


class LabelState(BaseModel):
    """A label as it is now."""

    repo: str
    name: str
    color: str
    description: str


@mcp.tool(title="Create an issue", annotations=ADDS)
def create_issue(
    repo: Repo,
    title: Title,
    idempotency_key: IdempotencyKey,
    body: Body = "",
    labels: Labels = [],  # noqa: B006 - never changed
    due_date: Annotated[date | None, Field(description="YYYY-MM-DD; leave it out for none.")] = None,
) -> Created:
    """Create a new issue in a repository.

    Use it when somebody wants a bug, a wish or a task written down. Not to answer in an issue that is there: use
    add_issue_comment; look with list_issues first if in doubt.
    """
    fields = {"repo": repo, "title": title, "body": body, "labels": sorted(labels), "due_date": due_date}
    issue, created = keys.once("create_issue", idempotency_key, fields, lambda tx: store.create(tx, **fields))
    return Created(created=created, issue=Issue.model_validate(issue))


@natural.tool(
    title="Create an issue", annotations=ADDS.model_copy(update={"idempotent_hint": False}), name="create_issue"
)
def create_issue_by_title(repo: Repo, title: Title, body: Body = "") -> Created:
    """Create a new issue in a repository, unless one with this title was created there within the last five minutes.

    Use it when somebody wants a bug, a wish or a task written down. Two different issues need different titles.
    """
    fields: dict[str, Any] = {"repo": repo, "title": title, "body": body, "labels": [], "due_date": None}
    issue, created = store.create_unless_recent(timedelta(minutes=5), **fields)
    return Created(created=created, issue=Issue.model_validate(issue))


@mcp.tool(title="Get one issue", annotations=READS)
def get_issue(issue_id: IssueId) -> Issue:
    """Get one issue with its body, labels and state.

    Use it when an id is known. Not to find an issue: use list_issues.
    """
    return Issue.model_validate(store.get(issue_id))


@mcp.tool(title="List issues", annotations=READS)
def list_issues(
    repo: Repo,
    state: Annotated[Literal["open", "closed", "all"], Field(description="Which ones; open unless told.")] = "open",
    limit: PageSize = 20,
    cursor: Cursor = None,
) -> Page[Issue]:
    """List the issues of one repository, the newest first, page by page; bodies are cut after 200 characters.

    Use it to find an issue or to get an overview. For one whole issue use get_issue. A repository without issues gives
    an empty list, which is no error.
    """
    return Page[Issue].model_validate(store.page(repo, state, limit, cursor))


@mcp.tool(title="Comment on an issue", annotations=ADDS)
def add_issue_comment(
    issue_id: IssueId,
    body: Annotated[str, Field(pattern=TEXT, min_length=1, max_length=65_536, description="Markdown, not empty.")],
    idempotency_key: IdempotencyKey,
) -> Comment:
    """Add a comment to an issue that is there, open or closed.

    Use it to answer or to add what is new. Not for a new topic: use create_issue.
    """
    fields = {"issue_id": issue_id, "body": body}
    comment, created = keys.once("add_issue_comment", idempotency_key, fields, lambda tx: store.comment(tx, **fields))
    return Comment(created=created, **comment)


@mcp.tool(title="Close an issue", annotations=CHANGES)
def close_issue(issue_id: IssueId) -> Issue:
    """Close an issue: it leaves the list of open ones. Closing a closed issue changes nothing.

    Use it when the work is done or won't be done. It can't be reopened here. Not to say something about it: use
    add_issue_comment.
    """
    return Issue.model_validate(store.close(issue_id))


@mcp.tool(title="Create or overwrite a label", annotations=CHANGES)
def upsert_label(
    repo: Repo,
    name: Annotated[Label, Field(description="In lower case, such as good-first-issue.")],
    color: Annotated[str, Field(pattern=r"^#[0-9a-f]{6}$", description="Such as #d73a4a.")],
    description: Annotated[str, Field(pattern=TEXT, max_length=100, description="Up to 100 characters.")] = "",
) -> LabelState:
    """Make sure that a repository has a label with this colour and description; one with this name is overwritten.

    Use it to introduce a label or to change its looks. Not to put a label on an issue: create_issue does that.
    """
    values: dict[str, Any] = {"repo": repo, "name": name, "color": color, "description": description}
    return LabelState.model_validate(store.upsert_label(**values))


if __name__ == "__main__":
    serve(mcp, DATABASE)
