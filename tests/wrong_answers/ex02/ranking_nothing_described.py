"""02.5: First make 02.4 green

Names alone find many requests; that isn't the exercise.
"""

for tool in await mcp.list_tools():
    mcp.add_tool(tool.model_copy(update={"description": None}))
