"""02.2: can do everything that the sql can

The business question under the old universal name.
"""

tool = await mcp.get_tool("list_assigned_issues")
mcp.local_provider.remove_tool("list_assigned_issues")
mcp.add_tool(tool.model_copy(update={"name": "run_sql"}))
