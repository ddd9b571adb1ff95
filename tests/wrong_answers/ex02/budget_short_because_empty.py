"""02.6: First make 02.4 green

Small, since it says nothing.
"""

for tool in await mcp.list_tools():
    mcp.add_tool(tool.model_copy(update={"description": "A tool."}))
