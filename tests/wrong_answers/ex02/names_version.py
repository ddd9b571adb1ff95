"""02.2: is a version

The second try, kept beside nothing.
"""

tool = await mcp.get_tool("read_file")
mcp.local_provider.remove_tool("read_file")
mcp.add_tool(tool.model_copy(update={"name": "read_file_v2"}))
