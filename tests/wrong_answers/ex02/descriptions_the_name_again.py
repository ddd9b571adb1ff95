"""02.4: The description only says the name again

Lazy, with words.
"""

for tool in await mcp.list_tools():
    mcp.add_tool(tool.model_copy(update={"description": f"This is the tool to {tool.name.replace('_', ' ')}."}))
