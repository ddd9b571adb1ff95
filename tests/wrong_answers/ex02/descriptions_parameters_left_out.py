"""02.4: No description for the parameter issue_id

The tool is described, what it takes is not.
"""


@mcp.tool(title="Close an issue")
def close_issue(issue_id: str) -> dict:
    """Close one issue. Use it when somebody says that it is fixed. Not to find its id: use list_open_issues."""
    return forge.close_issue(issue_id)
