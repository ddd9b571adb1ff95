"""02.1: No tool can change somebody

Nearly right: half of the job.
"""

mcp.local_provider.remove_tool("upsert_user")


@mcp.tool
def create_user(email: str, name: str, role: str) -> dict:
    """Register somebody new."""
    return forge.create_user(email, name, role)
