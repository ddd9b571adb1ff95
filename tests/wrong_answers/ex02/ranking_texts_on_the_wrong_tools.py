"""02.5: requests found their tool first

Copied one line too low: names and texts belong to the neighbour.
"""

tools = await mcp.list_tools()
for tool, other in zip(tools, [*tools[1:], tools[0]]):
    mcp.local_provider.remove_tool(tool.name)
for tool, other in zip(tools, [*tools[1:], tools[0]]):
    mcp.add_tool(tool.model_copy(update={"name": other.name, "description": other.description}))
