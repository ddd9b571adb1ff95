"""02.3: The title says what

Copied one line too low.
"""

tools = await mcp.list_tools()
for tool, other in zip(tools, [*tools[1:], tools[0]]):
    mcp.add_tool(tool.model_copy(update={"title": other.name.replace("_", " ").capitalize()}))
