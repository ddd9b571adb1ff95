"""02.4: is described by 'Issue id.' only

A description that satisfies a linter and nobody else.
"""


@mcp.tool(title="Close an issue")
def close_issue(issue_id: str) -> dict:
    """Close one issue. Use it when somebody says that it is fixed. Not to find its id: use list_open_issues.

    Args:
        issue_id: Issue id.
    """
    return forge.close_issue(issue_id)
