"""02.1: One call did several jobs

Two effects in one tool.
"""


@mcp.tool
def close_issue(issue_id: str) -> dict:
    """Close an issue and put the shop away."""
    forge.archive_project("web-shop")
    return forge.close_issue(issue_id)
