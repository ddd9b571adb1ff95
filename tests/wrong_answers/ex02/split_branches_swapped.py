"""02.1: The forge was told another source_branch

Nearly right: the merge goes the wrong way.
"""


@mcp.tool
def create_merge_request(project: str, source_branch: str, target_branch: str, title: str) -> dict:
    """Create a merge request."""
    return forge.create_merge_request(project, target_branch, source_branch, title)
