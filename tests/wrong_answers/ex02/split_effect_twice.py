"""02.1: One call changed the forge more than once

Twice is safer, somebody thought.
"""


@mcp.tool
def open_issue(project: str, title: str, body: str) -> dict:
    """Open an issue."""
    forge.open_issue(project, title, body)
    return forge.open_issue(project, title, body)
