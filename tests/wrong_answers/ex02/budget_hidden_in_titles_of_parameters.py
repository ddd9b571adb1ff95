"""02.6: Names, texts, input schemas and

The text moved to where a quick count doesn't look: into the schema's titles and examples.
"""

for tool in await mcp.list_tools():
    schema = {**tool.parameters, "properties": {
        name: {**each, "title": f"The {name} as the forge knows it", "examples": [f"{name} number {i}" for i in range(9)]}
        for name, each in tool.parameters["properties"].items()
    }}  # fmt: skip
    mcp.add_tool(tool.model_copy(update={"parameters": schema}))
