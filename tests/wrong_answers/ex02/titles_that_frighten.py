"""02.3: promises that something will be gone

Closing isn't deleting.
"""

tool = await mcp.get_tool("close_issue")
mcp.add_tool(tool.model_copy(update={"title": "Delete an issue"}))
