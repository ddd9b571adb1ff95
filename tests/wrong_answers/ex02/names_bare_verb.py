"""02.2: bare verb 'close'

What is closed?
"""

tool = await mcp.get_tool("close_issue")
mcp.local_provider.remove_tool("close_issue")
mcp.add_tool(tool.model_copy(update={"name": "close"}))
