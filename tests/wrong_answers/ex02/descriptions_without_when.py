"""02.4: The description doesn't say when to use the tool

What it does, and nothing else.
"""


@mcp.tool(title="Close an issue")
def close_issue(issue_id: str) -> dict:
    """Sets the state of one issue to closed; a second call changes nothing.

    Args:
        issue_id: Such as I-101.
    """
    return forge.close_issue(issue_id)
