"""02.4: has no words of its own

The cheat: a frame that turns any name into a description.
"""

for tool in await mcp.list_tools():
    job, other = tool.name.replace("_", " "), "read_file" if tool.name != "read_file" else "close_issue"
    said = f"Tool to {job} on this forge here. Use it when you need to {job}. Not for other things: use {other}."
    mcp.add_tool(tool.model_copy(update={"description": said}))
