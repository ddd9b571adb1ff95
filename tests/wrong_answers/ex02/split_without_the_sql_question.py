"""02.1: No tool does this job: list the open issues assigned to a person

SQL is gone, and with it what people asked for.
"""

mcp.local_provider.remove_tool("list_assigned_issues")
