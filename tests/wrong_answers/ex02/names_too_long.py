"""02.2: characters; 40 leave room

A sentence for a name.
"""

tool = await mcp.get_tool("list_assigned_issues")
mcp.local_provider.remove_tool("list_assigned_issues")
mcp.add_tool(tool.model_copy(update={"name": "list_all_open_issues_that_are_assigned_to_one_person"}))
