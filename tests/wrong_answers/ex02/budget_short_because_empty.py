"""02.6: less than 40 characters doesn't count here

Small, since it says nothing.
"""

for tool in await mcp.list_tools():
    mcp.add_tool(tool.model_copy(update={"description": "A tool."}))
