"""02.6: Names, texts, input schemas and

The host reads the server's instructions too.
"""

old_tools = await mcp.list_tools()
mcp: FastMCP = FastMCP("forge", instructions="Be polite, be quick, never guess, ask when in doubt, and tell what was done. " * 80)
for tool in old_tools:
    mcp.add_tool(tool)
