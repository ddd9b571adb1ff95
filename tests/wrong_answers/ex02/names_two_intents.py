"""02.2: The word 'or' in the name

One tool, and the name says two.
"""

tool = await mcp.get_tool("upsert_user")
mcp.local_provider.remove_tool("upsert_user")
mcp.add_tool(tool.model_copy(update={"name": "create_or_update_user"}))
