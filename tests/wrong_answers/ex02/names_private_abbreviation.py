"""02.2: 'mr' is an abbreviation that only insiders know

Known to the team only.
"""

tool = await mcp.get_tool("create_merge_request")
mcp.local_provider.remove_tool("create_merge_request")
mcp.add_tool(tool.model_copy(update={"name": "create_mr"}))
