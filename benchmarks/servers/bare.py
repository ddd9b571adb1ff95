"""The rival: a FastMCP server without any guard, whose tool does nothing."""

from fastmcp import FastMCP
from pydantic import BaseModel

from servers.backends.serve import serve

mcp = FastMCP("bare")


class Done(BaseModel):
    """Nothing was done."""

    done: bool = True


@mcp.tool
def do_nothing() -> Done:
    """Do nothing."""
    return Done()


if __name__ == "__main__":
    serve(mcp)
