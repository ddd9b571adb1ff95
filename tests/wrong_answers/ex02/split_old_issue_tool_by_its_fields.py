"""02.1: Without title the tool does another job

The old `issue` again: which fields came decides.
"""


@mcp.tool
def open_issue(project: str, title: str | None = None, body: str = "") -> dict:
    """Open an issue, or put the project away."""
    if title is None:
        return forge.archive_project(project)
    return forge.open_issue(project, title, body)
