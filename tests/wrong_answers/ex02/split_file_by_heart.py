"""02.1: The forge was told another path

Always the same file.
"""


@mcp.tool
def read_file(project: str, path: str) -> dict:
    """Read a file."""
    return forge.read_file(project, "README.md")
