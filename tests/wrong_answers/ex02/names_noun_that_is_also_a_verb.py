"""02.2: names a thing

*Issue* is a verb too, but not here.
"""

tool = await mcp.get_tool("close_issue")
mcp.local_provider.remove_tool("close_issue")
mcp.add_tool(tool.model_copy(update={"name": "issue_close"}))
