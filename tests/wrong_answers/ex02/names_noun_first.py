"""02.2: begins with 'project'

The thing first, as in many REST APIs.
"""

tool = await mcp.get_tool("archive_project")
mcp.local_provider.remove_tool("archive_project")
mcp.add_tool(tool.model_copy(update={"name": "project_archive"}))
