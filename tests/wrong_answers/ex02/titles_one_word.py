"""02.3: The title doesn't say what is done to what

Short is good, but which one is it?
"""

for tool in await mcp.list_tools():
    mcp.add_tool(tool.model_copy(update={"title": tool.name.split("_")[0].title() + "!"}))
