"""02.4: doesn't say what the tool is not for

Names a tool, and it is the same one.
"""


@mcp.tool(title="Close an issue")
def close_issue(issue_id: str) -> dict:
    """Close one issue. Use it when somebody says that it is fixed. Never use close_issue for anything else.

    Args:
        issue_id: Such as I-101.
    """
    return forge.close_issue(issue_id)
