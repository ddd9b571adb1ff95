"""02.6: Names, texts, input schemas and

Twelve examples in each description.
"""

for tool in await mcp.list_tools():
    examples = " ".join(f"Example {i}: {tool.name} for the project number {i} of the team." for i in range(12))
    mcp.add_tool(tool.model_copy(update={"description": f"{tool.description} {examples}"}))
