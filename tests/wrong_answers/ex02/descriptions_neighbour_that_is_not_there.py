"""02.4: sends the model to get_issue, which isn't in the toolbox

Sounds right, and leads nowhere.
"""


@mcp.tool(title="Close an issue")
def close_issue(issue_id: str) -> dict:
    """Close one issue. Use it when somebody says that it is fixed. Not to look at it: use get_issue.

    Args:
        issue_id: Such as I-101.
    """
    return forge.close_issue(issue_id)
