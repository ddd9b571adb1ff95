"""02.1: The parameter 'action' isn't one of the jobs' parameters

Nearly right: ten tools, and one of them still has its switch, now with a default.
"""


@mcp.tool
def close_issue(issue_id: str, action: str = "close") -> dict:
    """Close an issue."""
    return forge.close_issue(issue_id)
