"""02.3: Nothing in the title says what the tool does

Two words, as asked.
"""

for i, tool in enumerate(await mcp.list_tools()):
    mcp.add_tool(tool.model_copy(update={"title": f"Lorem ipsum {chr(97 + i) * 3}"}))
