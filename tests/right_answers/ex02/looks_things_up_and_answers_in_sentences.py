"""Tools that look something up first, page their lists, and answer in sentences."""


@mcp.tool(title="Rename a project")
def rename_project(project: str, new_name: str) -> str:
    """Change the name of a project; its issues and files keep their place.

    Use it when a project should be called something else. Not to put it away: use archive_project.

    Args:
        project: Its name so far, such as web-shop.
        new_name: The name from now on.
    """
    return f"Done, now called {forge.rename_project(project, new_name)['project']}."


@mcp.tool(title="Write or overwrite a file")
def write_file(project: str, path: str, content: str) -> str:
    """Write a text file: save the following text under this path, and overwrite what was there.

    Use it when someone gives the new text. Not to look at it: use read_file.

    Args:
        project: Name of the project, such as web-shop.
        path: Such as README.md.
        content: The whole new text.
    """
    return f"{forge.write_file(project, path, content)['characters']} characters written to {path}."


@mcp.tool(title="Show a project's open issues")
def list_open_issues(project: str, limit: int = 3) -> list[dict]:
    """List the open issues of one project, at most as many as asked for.

    Use it when someone asks which issues are open in a project. Not for one person's work: use list_assigned_issues.

    Args:
        project: Name of the project, such as web-shop.
        limit: How many at most, 1 to 50.
    """
    forge.read_file(project, "README.md")
    return forge.list_open_issues(project)[:limit]


@mcp.tool(title="Read a file")
def read_file(project: str, path: str) -> dict:
    """Read a text file and show its content.

    Use it when someone asks what is in a file. Not to change it: use write_file.

    Args:
        project: Name of the project, such as web-shop.
        path: Such as README.md.
    """
    found = forge.read_file(project, path)
    return found | {"open_issues": len(forge.list_open_issues(project))}
