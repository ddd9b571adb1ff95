"""02.3: The title is the one FastMCP makes out of the name, or there is none

A title was given, and says nothing that the name didn't.
"""

for tool in await mcp.list_tools():
    mcp.add_tool(tool.model_copy(update={"title": tool.name.replace("_", " ").title()}))
