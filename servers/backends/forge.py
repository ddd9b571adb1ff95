"""The forge of exercise 02, as a server reaches it: one function a thing that can be asked of it.

Every function raises `NotFound` or `Refused` when the forge says no, and an `UpstreamError` when it doesn't answer.
"""

from __future__ import annotations

from typing import Any

from servers.backends.world import ask

Row = dict[str, Any]


def rename_project(project: str, new_name: str) -> Row:
    """Give a project another name: {project, renamed_from}."""
    return ask("forge.rename_project", project=project, new_name=new_name)


def archive_project(project: str) -> Row:
    """Make a project read-only: {project, archived}."""
    return ask("forge.archive_project", project=project)


def open_issue(project: str, title: str, body: str) -> Row:
    """Open an issue: {issue_id, project, title, body, state, assignee, opened}."""
    return ask("forge.open_issue", project=project, title=title, body=body)


def list_open_issues(project: str) -> list[Row]:
    """The open issues of one project."""
    return ask("forge.list_open_issues", project=project)


def list_assigned_issues(email: str) -> list[Row]:
    """The open issues assigned to one person, in all projects."""
    return ask("forge.list_assigned_issues", email=email)


def close_issue(issue_id: str) -> Row:
    """Close an issue such as "I-101"."""
    return ask("forge.close_issue", issue_id=issue_id)


def create_merge_request(project: str, source_branch: str, target_branch: str, title: str) -> Row:
    """Ask for one branch to be merged into another: {merge_request_id, …}."""
    return ask(
        "forge.create_merge_request",
        project=project,
        source_branch=source_branch,
        target_branch=target_branch,
        title=title,
    )


def read_file(project: str, path: str) -> Row:
    """Read a text file: {project, path, content}."""
    return ask("forge.read_file", project=project, path=path)


def write_file(project: str, path: str, content: str) -> Row:
    """Write a text file, over the old one if there is one: {project, path, characters}."""
    return ask("forge.write_file", project=project, path=path, content=content)


def put_user(email: str, name: str, role: str) -> Row:
    """Register a person, or overwrite name and role of one who is registered. role: reader, developer or owner."""
    return ask("forge.put_user", email=email, name=name, role=role)


def create_user(email: str, name: str, role: str) -> Row:
    """Register a person who isn't registered yet."""
    return ask("forge.create_user", email=email, name=name, role=role)


def update_user(email: str, name: str, role: str) -> Row:
    """Overwrite name and role of a person who is registered."""
    return ask("forge.update_user", email=email, name=name, role=role)


def query(sql: str) -> list[list[Any]]:
    """Run any SQL on a copy of the issues table (issue_id, project, title, state, assignee)."""
    return ask("forge.query", sql=sql)
