"""02.3: The title doesn't fit a menu

The description, put into the title.
"""

for tool in await mcp.list_tools():
    mcp.add_tool(
        tool.model_copy(
            update={
                "title": f"{tool.name.replace('_', ' ').capitalize()}, whenever somebody who works on the forge asks you to do so"
            }
        )
    )
