import json
from typing import Annotated

from fastmcp import FastMCP
from pydantic import Field

from servers.backends import forge

mcp = FastMCP("forge")

Project = Annotated[str, Field(description="Project name, lower case, e.g. web-shop")]
Path = Annotated[str, Field(description="File path from the repo root, e.g. src/main.py")]


def out(value) -> str:
    return json.dumps(value, ensure_ascii=False)


# issues and merge requests
@mcp.tool(
    name="openIssue",
    title="Report a new issue",
    description="New issue in a project: bug, wish, task. Returns its id. Use when a problem must be recorded. "
    "Not for looking whether it's there already: listOpenIssues.",
)
def open_issue(
    project: Project,
    title: Annotated[str, Field(description="Headline, one line, e.g. Login button dead on iPhone")],
    body: Annotated[str, Field(description="Details: steps, expected, seen. Markdown ok")],
) -> str:
    return out(forge.open_issue(project, title, body))


@mcp.tool(
    name="listOpenIssues",
    title="Open issues of a project",
    description="All unsolved issues of one project, with id and title. Use when asked what's still to do or broken in "
    "a project. Not for one person's work: listAssignedIssues.",
)
def list_open_issues(project: Project) -> str:
    return out(forge.list_open_issues(project))


@mcp.tool(
    name="closeIssue",
    title="Close an issue as done",
    description="Marks an issue closed. Use when it's fixed, solved or a duplicate. Needs the id. "
    "Not for finding the id: listOpenIssues.",
)
def close_issue(issue_id: Annotated[str, Field(description="Issue id, I- and a number, e.g. I-101")]) -> str:
    return out(forge.close_issue(issue_id))


@mcp.tool(
    name="createMergeRequest",
    title="Propose merging a branch",
    description="Asks for one branch to be merged into another; nothing is merged yet. Use when work on a branch is "
    "ready for review. Not for changing a single file directly: writeFile.",
)
def create_merge_request(
    project: Project,
    source_branch: Annotated[str, Field(description="Branch with the new commits, e.g. feature/login")],
    target_branch: Annotated[str, Field(description="Branch that receives them, e.g. main")],
    title: Annotated[str, Field(description="What the change does, e.g. Add login by mail")],
) -> str:
    return out(forge.create_merge_request(project, source_branch, target_branch, title))


# projects and files
@mcp.tool(
    name="renameProject",
    title="Give a project a new name",
    description="Changes a project's name; contents stay. Use when a project should be called something else. "
    "Not for retiring one: archiveProject.",
)
def rename_project(
    project: Annotated[str, Field(description="Present name, e.g. docs")],
    new_name: Annotated[str, Field(description="Name from now on, lower case with hyphens, e.g. user-guide")],
) -> str:
    return out(forge.rename_project(project, new_name))


@mcp.tool(
    name="archiveProject",
    title="Archive a project (read-only)",
    description="Freezes a project: readable, no more changes. Use when a project is finished or abandoned. "
    "Not for a mere change of name: renameProject.",
)
def archive_project(project: Project) -> str:
    return out(forge.archive_project(project))


@mcp.tool(
    name="readFile",
    title="Show a file's content",
    description="Text of one file. Changes nothing. Use when you need to see, quote or check what a file contains. "
    "Not for saving: writeFile.",
)
def read_file(project: Project, path: Path) -> str:
    return out(forge.read_file(project, path))


@mcp.tool(
    name="writeFile",
    title="Save a file, replacing the old one",
    description="Saves text to a file, OVERWRITES what was there. Use when a file must be made or its text replaced. "
    "Not for just looking: readFile.",
)
def write_file(
    project: Project, path: Path, content: Annotated[str, Field(description="Whole new text, not a diff")]
) -> str:
    return out(forge.write_file(project, path, content))


# people, and the one question that SQL was used for
Email = Annotated[str, Field(description="Mail address, e.g. ana@forge.example")]
Name = Annotated[str, Field(description="Full name, e.g. Ana Silva")]
Role = Annotated[str, Field(description="reader, developer or owner")]


@mcp.tool(
    name="createUser",
    title="Register a new person",
    description="New account on the forge. Use when somebody joins and isn't known yet. "
    "Not for people who have an account: updateUser.",
)
def create_user(email: Email, name: Name, role: Role) -> str:
    return out(forge.create_user(email, name, role))


@mcp.tool(
    name="updateUser",
    title="Change a person's name or role",
    description="New name or role for an existing account. Use when someone marries, is promoted or loses rights. "
    "Not for newcomers: createUser.",
)
def update_user(email: Email, name: Name, role: Role) -> str:
    return out(forge.update_user(email, name, role))


@mcp.tool(
    name="listAssignedIssues",
    title="Open issues assigned to a person",
    description="Open issues on one person's plate, across projects. Use when asked who works on what or how busy "
    "someone is. Not for everything in a project: listOpenIssues.",
)
def list_assigned_issues(email: Email) -> str:
    return out(forge.list_assigned_issues(email))
