"""02.2: hosts refuse the name

Legal by the specification, refused by two model APIs.
"""

tool = await mcp.get_tool("read_file")
mcp.local_provider.remove_tool("read_file")
mcp.add_tool(tool.model_copy(update={"name": "read.file"}))
