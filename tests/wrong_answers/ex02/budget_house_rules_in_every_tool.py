"""02.6: Names, texts, input schemas and

What belongs once into the server's instructions, ten times.
"""

rules = (
    " House rules: be polite; never guess a project; ask when in doubt; projects are written in lower case; people are "
    "known by their address; nothing is ever deleted; archived projects stay archived; write English; keep titles short; "
    "one thing a call; wait for the answer; tell the person what was done, in which project, and what comes next; never say that "
    "something was done before the forge has answered; never show an address to somebody who isn't on the forge."
)
for tool in await mcp.list_tools():
    mcp.add_tool(tool.model_copy(update={"description": tool.description + rules}))
