"""02.6: Names, texts, input schemas and

An enumeration of a thing that isn't finite, in seven tools.
"""

for tool in await mcp.list_tools():
    if "project" in tool.parameters["properties"]:
        project = {**tool.parameters["properties"]["project"], "examples": [f"project-{i:03}" for i in range(60)]}
        schema = {**tool.parameters, "properties": {**tool.parameters["properties"], "project": project}}
        mcp.add_tool(tool.model_copy(update={"parameters": schema}))
