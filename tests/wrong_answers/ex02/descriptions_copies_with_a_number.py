"""02.4: has no words of its own

The cheat: one text for all, numbered so that no two are equal.
"""

for i, tool in enumerate(await mcp.list_tools()):
    other = "read_file" if tool.name != "read_file" else "close_issue"
    said = f"Works with the forge in way {i}. Use it when way {i} is wanted by somebody. Not for other ways: use {other}."
    mcp.add_tool(tool.model_copy(update={"description": said}))
