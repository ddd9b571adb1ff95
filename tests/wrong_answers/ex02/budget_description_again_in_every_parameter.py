"""02.6: Names, texts, input schemas and

Each parameter tells the whole story again.
"""

for tool in await mcp.list_tools():
    schema = {**tool.parameters, "properties": {
        name: {**each, "description": f"{tool.description} {each['description']}"}
        for name, each in tool.parameters["properties"].items()
    }}  # fmt: skip
    mcp.add_tool(tool.model_copy(update={"parameters": schema}))
