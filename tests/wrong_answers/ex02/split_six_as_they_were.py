"""02.1: isn't one of the jobs' parameters

The lazy one: the old toolbox under a new name.
"""

mcp: FastMCP = old
