"""02.3: The title is the one FastMCP makes out of the name, or there is none

The cheat: the SDK's title, and a full stop.
"""

for tool in await mcp.list_tools():
    mcp.add_tool(tool.model_copy(update={"title": tool.name.replace("_", " ").title() + "."}))
