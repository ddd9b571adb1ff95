"""02.5: less than 40 characters doesn't count here

Names alone find many requests; that isn't the exercise.
"""

for tool in await mcp.list_tools():
    mcp.add_tool(tool.model_copy(update={"description": None}))
