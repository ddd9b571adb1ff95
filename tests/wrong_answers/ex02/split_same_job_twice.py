"""02.1: Two tools do the same job

The old name is kept beside the new one, so that nothing breaks.
"""


@mcp.tool
def new_issue(project: str, title: str, body: str) -> dict:
    """Open an issue."""
    return forge.open_issue(project, title, body)
