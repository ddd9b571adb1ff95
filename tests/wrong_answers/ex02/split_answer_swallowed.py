"""02.1: keeps the forge's answer to itself

Lazy: the effect is there, and nobody learns the issue's id.
"""


@mcp.tool
def open_issue(project: str, title: str, body: str) -> str:
    """Open an issue."""
    forge.open_issue(project, title, body)
    return "ok"
