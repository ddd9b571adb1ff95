"""02.4: One text describes parameters that mean different things

Each parameter is described, by the same words.
"""

for tool in await mcp.list_tools():
    fields = {p: {**each, "description": "The value to use."} for p, each in tool.parameters["properties"].items()}
    mcp.add_tool(tool.model_copy(update={"parameters": {**tool.parameters, "properties": fields}}))
