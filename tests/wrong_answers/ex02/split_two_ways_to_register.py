"""02.1: Two tools can register somebody new

One tool that does both, and one of its halves besides.
"""


@mcp.tool
def create_user(email: str, name: str, role: str) -> dict:
    """Register somebody new."""
    return forge.create_user(email, name, role)
