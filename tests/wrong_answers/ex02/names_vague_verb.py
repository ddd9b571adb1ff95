"""02.2: 'manage' could mean anything

A verb that fits everything.
"""

tool = await mcp.get_tool("rename_project")
mcp.local_provider.remove_tool("rename_project")
mcp.add_tool(tool.model_copy(update={"name": "manage_project"}))
