"""02.4: There is no description

Lazy.
"""

for tool in await mcp.list_tools():
    mcp.add_tool(tool.model_copy(update={"description": None}))
