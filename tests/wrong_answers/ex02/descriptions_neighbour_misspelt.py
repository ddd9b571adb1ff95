"""02.4: did you mean list_open_issues?

One letter is missing.
"""


@mcp.tool(title="Close an issue")
def close_issue(issue_id: str) -> dict:
    """Close one issue. Use it when somebody says that it is fixed. Not to find its id: use list_openissues.

    Args:
        issue_id: Such as I-101.
    """
    return forge.close_issue(issue_id)
