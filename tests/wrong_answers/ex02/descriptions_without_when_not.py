"""02.4: doesn't say what the tool is not for

Half of the job: no neighbour is named.
"""


@mcp.tool(title="Close an issue")
def close_issue(issue_id: str) -> dict:
    """Close one issue. Use it when somebody says that a known issue is fixed. Not for anything else.

    Args:
        issue_id: Such as I-101.
    """
    return forge.close_issue(issue_id)
