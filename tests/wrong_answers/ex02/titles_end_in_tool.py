"""02.3: The title speaks of the tool, not of what it does

The cheat: one word more.
"""

for tool in await mcp.list_tools():
    mcp.add_tool(tool.model_copy(update={"title": tool.name.replace("_", " ").title() + " Tool"}))
