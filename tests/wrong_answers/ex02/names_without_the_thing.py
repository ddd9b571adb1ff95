"""02.2: doesn't say what the tool acts on

A verb and a filler.
"""

tool = await mcp.get_tool("open_issue")
mcp.local_provider.remove_tool("open_issue")
mcp.add_tool(tool.model_copy(update={"name": "create_thing"}))
