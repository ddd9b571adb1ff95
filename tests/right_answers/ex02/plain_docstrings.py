from typing import Literal

from fastmcp import FastMCP

from servers.backends import forge

mcp = FastMCP("forge")


# issues and merge requests
@mcp.tool(title="Report a new issue")
def open_issue(project: str, title: str, body: str):
    """Open a new issue in a project, for example a bug or a wish.

    Use it when someone wants to report a problem or ask for a feature.
    Not to see which issues exist already: use list_open_issues.

    Args:
        project: Name of the project, such as web-shop.
        title: Short summary of the problem in one line.
        body: Full description of the problem. Markdown is allowed.
    """
    return forge.open_issue(project, title, body)


@mcp.tool(title="Open issues of a project")
def list_open_issues(project: str):
    """List all issues of one project that are still open.

    Use it when someone asks what is left to do in a project or needs the id of an issue.
    Not for the issues of one person: use list_assigned_issues.

    Args:
        project: Name of the project, such as web-shop.
    """
    return forge.list_open_issues(project)


@mcp.tool(title="Close an issue")
def close_issue(issue_id: str):
    """Close one issue, because it is solved or not needed any more.

    Use it when someone says that an issue is done.
    Not to create an issue: use open_issue.

    Args:
        issue_id: Id of the issue, such as I-101.
    """
    return forge.close_issue(issue_id)


@mcp.tool(title="Ask for a merge")
def create_merge_request(project: str, source_branch: str, target_branch: str, title: str):
    """Create a merge request: ask for one branch to be merged into another.

    Use it when work on a branch is finished and should be reviewed and merged.
    Not to change a file directly: use write_file.

    Args:
        project: Name of the project, such as web-shop.
        source_branch: Branch with the changes, such as fix-login.
        target_branch: Branch that shall receive the changes, such as main.
        title: Short summary of the changes in one line.
    """
    return forge.create_merge_request(project, source_branch, target_branch, title)


# projects and files
@mcp.tool(title="Rename a project")
def rename_project(project: str, new_name: str):
    """Give a project a new name.

    Use it when someone wants to change the name of a project. The content stays the same.
    Not to retire a project: use archive_project.

    Args:
        project: Current name of the project, such as web-shop.
        new_name: New name of the project, such as online-shop.
    """
    return forge.rename_project(project, new_name)


@mcp.tool(title="Archive a project")
def archive_project(project: str):
    """Archive a project, which makes it read-only.

    Use it when a project is finished and nobody should change it any more.
    Not to change the name of a project: use rename_project.

    Args:
        project: Name of the project, such as web-shop.
    """
    return forge.archive_project(project)


@mcp.tool(title="Read a file")
def read_file(project: str, path: str):
    """Read the content of one file in a project.

    Use it when someone wants to see what is in a file. It changes nothing.
    Not to change a file: use write_file.

    Args:
        project: Name of the project, such as web-shop.
        path: Path of the file inside the project, such as src/main.py.
    """
    return forge.read_file(project, path)


@mcp.tool(title="Write a file")
def write_file(project: str, path: str, content: str):
    """Write a file in a project. An existing file is overwritten.

    Use it when someone wants to create a file or replace its content.
    Not to look into a file: use read_file.

    Args:
        project: Name of the project, such as web-shop.
        path: Path of the file inside the project, such as src/main.py.
        content: The whole new text of the file.
    """
    return forge.write_file(project, path, content)


# people, and the one question that SQL was used for
@mcp.tool(title="Register or update a person")
def upsert_user(email: str, name: str, role: Literal["reader", "developer", "owner"]):
    """Register a person, or change the data of a person who is already registered.

    Use it when someone is new in the team, or when the name or role of a person changes.
    Not to see what a person works on: use list_assigned_issues.

    Args:
        email: Email address of the person, such as ana@example.org.
        name: Full name of the person, such as Ana Silva.
        role: What the person may do: reader, developer or owner.
    """
    return forge.put_user(email, name, role)


@mcp.tool(title="Issues of a person")
def list_assigned_issues(email: str):
    """List the open issues that are assigned to one person.

    Use it when someone asks what a person has to do.
    Not for all issues of a project: use list_open_issues.

    Args:
        email: Email address of the person, such as ana@example.org.
    """
    return forge.list_assigned_issues(email)
