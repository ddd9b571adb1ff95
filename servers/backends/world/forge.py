"""A code forge: projects with issues, merge requests and files, and the people who work on them."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Mapping
from typing import Any

from servers.backends.errors import NotFound, Refused
from servers.backends.world.core import Clock, Operation, Unchanged

PROJECTS = (
    "web-shop", "billing", "search", "mobile-app", "docs", "stock", "mailer", "reports", "login", "images", "chat",
    "maps", "backups", "invoices", "ratings", "coupons", "translations", "monitoring", "newsletter", "warehouse",
)  # fmt: skip
PEOPLE = {"ana@forge.example": "Ana Quispe", "binh@forge.example": "Trần Bình", "chidi@forge.example": "Chidi Okafor"}
ROLES = ("reader", "developer", "owner")

Row = dict[str, Any]


def forge(clock: Clock) -> Mapping[str, Operation]:
    """One forge: every project starts with a README and an open issue that is assigned to somebody."""
    numbers = itertools.count(101)
    emails = itertools.cycle(PEOPLE)
    users: dict[str, Row] = {e: {"email": e, "name": n, "role": "developer"} for e, n in PEOPLE.items()}
    projects: dict[str, Row] = {
        p: {"project": p, "archived": False, "files": {"README.md": f"# {p}"}} for p in PROJECTS
    }
    merge_requests: list[Row] = []
    issues: dict[str, Row] = {}

    def add_issue(project: str, title: str, body: str, assignee: str | None) -> Row:
        issue = {"issue_id": f"I-{next(numbers)}", "project": project, "title": title, "body": body}
        issues[issue["issue_id"]] = issue | {"state": "open", "assignee": assignee, "opened": clock.now.isoformat()}
        return issues[issue["issue_id"]]

    for name in PROJECTS:
        add_issue(name, f"Tidy up {name}", "Somebody should.", next(emails))

    def known(project: str) -> Row:
        if project not in projects:
            raise NotFound(f"There is no project {project!r}.", sorted(projects))
        return projects[project]

    def active(project: str) -> Row:
        if known(project)["archived"]:
            raise Refused(f"The project {project!r} is archived: nothing can be added to it.")
        return projects[project]

    def rename_project(project: str, new_name: str) -> Row:
        if new_name in projects:
            raise Refused(f"There is a project {new_name!r} already.")
        projects[new_name] = known(project) | {"project": new_name}
        del projects[project]
        for row in [*issues.values(), *merge_requests]:
            if row["project"] == project:
                row["project"] = new_name
        return {"project": new_name, "renamed_from": project}

    def archive_project(project: str) -> Any:
        row = known(project)
        answer = {"project": project, "archived": True}
        if row["archived"]:
            return Unchanged(answer)
        row["archived"] = True
        return answer

    def open_issue(project: str, title: str, body: str) -> Row:
        active(project)
        return add_issue(project, title, body, None)

    def list_open_issues(project: str) -> list[Row]:
        known(project)
        return [i for i in issues.values() if i["project"] == project and i["state"] == "open"]

    def list_assigned_issues(email: str) -> list[Row]:
        if email not in users:
            raise NotFound(f"There is nobody with the address {email!r}.", sorted(users))
        return [i for i in issues.values() if i["assignee"] == email and i["state"] == "open"]

    def close_issue(issue_id: str) -> Any:
        if issue_id not in issues:
            raise NotFound(f"There is no issue {issue_id!r}.")
        issue = issues[issue_id]
        if issue["state"] == "closed":
            return Unchanged(issue)
        issue["state"] = "closed"
        return issue

    def create_merge_request(project: str, source_branch: str, target_branch: str, title: str) -> Row:
        active(project)
        row = {"project": project, "source_branch": source_branch, "target_branch": target_branch, "title": title}
        merge_requests.append({"merge_request_id": f"M-{next(numbers)}"} | row)
        return merge_requests[-1]

    def read_file(project: str, path: str) -> Row:
        files = known(project)["files"]
        if path not in files:
            raise NotFound(f"There is no file {path!r} in {project!r}.", sorted(files))
        return {"project": project, "path": path, "content": files[path]}

    def write_file(project: str, path: str, content: str) -> Row:
        active(project)["files"][path] = content
        return {"project": project, "path": path, "characters": len(content)}

    def put_user(email: str, name: str, role: str) -> Row:
        if role not in ROLES:
            raise Refused(f"There is no role {role!r}: choose one of {', '.join(ROLES)}.")
        users[email] = {"email": email, "name": name, "role": role}
        return users[email]

    def create_user(email: str, name: str, role: str) -> Row:
        if email in users:
            raise Refused(f"{email!r} is registered already.")
        return put_user(email, name, role)

    def update_user(email: str, name: str, role: str) -> Row:
        if email not in users:
            raise NotFound(f"There is nobody with the address {email!r}.", sorted(users))
        return put_user(email, name, role)

    def query(sql: str) -> list[list[Any]]:
        with sqlite3.connect(":memory:") as database:
            database.execute("create table issues (issue_id, project, title, state, assignee)")
            rows = [[i[c] for c in ("issue_id", "project", "title", "state", "assignee")] for i in issues.values()]
            database.executemany("insert into issues values (?, ?, ?, ?, ?)", rows)
            try:
                return [list(row) for row in database.execute(sql).fetchall()]
            except sqlite3.Error as error:
                raise Refused(f"The database says: {error}.") from None

    writing = (
        rename_project, archive_project, open_issue, close_issue, create_merge_request, write_file,
        put_user, create_user, update_user,
    )  # fmt: skip
    reading = (list_open_issues, list_assigned_issues, read_file, query)
    return {f"forge.{f.__name__}": Operation(f, effect=True) for f in writing} | {
        f"forge.{f.__name__}": Operation(f) for f in reading
    }
