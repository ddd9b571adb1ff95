"""02.2: promises that something will be gone

Archiving keeps everything; this name frightens people off, or worse, attracts them.
"""

tool = await mcp.get_tool("archive_project")
mcp.local_provider.remove_tool("archive_project")
mcp.add_tool(tool.model_copy(update={"name": "delete_project"}))
