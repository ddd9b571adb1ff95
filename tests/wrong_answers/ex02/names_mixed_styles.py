"""02.2: in several styles

One camelCase name among nine others.
"""

tool = await mcp.get_tool("write_file")
mcp.local_provider.remove_tool("write_file")
mcp.add_tool(tool.model_copy(update={"name": "writeFile"}))
