"""kebab-case is portable too."""

import re

tools = await mcp.list_tools()
known = {tool.name for tool in tools}


def other(name):
    return name.replace("_", "-")


for tool in tools:
    said = re.sub(r"\w+", lambda m: other(m[0]) if m[0] in known else m[0], tool.description)
    mcp.local_provider.remove_tool(tool.name)
    mcp.add_tool(tool.model_copy(update={"name": other(tool.name), "description": said}))
