"""02.4: has no words of its own

The cheat: each tool has a first sentence of its own, then the same two for all.
"""

for tool in await mcp.list_tools():
    other = "read_file" if tool.name != "read_file" else "close_issue"
    said = f"{tool.description.split('.')[0]}. Use it when it is the right tool. Not for other jobs: use {other}."
    mcp.add_tool(tool.model_copy(update={"description": said}))
