"""02.3: Two tools have the same title

A title for the server, not for its tools.
"""

for tool in await mcp.list_tools():
    mcp.add_tool(tool.model_copy(update={"title": "Issues, merges, projects, files and users"}))
