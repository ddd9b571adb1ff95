"""The same nothing behind our guards: once as a tool that reads, once as one that may write."""

from mcp_types import ToolAnnotations
from pydantic import BaseModel

from servers.backends.production import DATABASE, production
from servers.backends.serve import serve

mcp = production("guarded", "Does nothing, carefully.")


class Done(BaseModel):
    """Nothing was done."""

    done: bool = True


@mcp.tool(annotations=ToolAnnotations(read_only_hint=True))
def read_nothing() -> Done:
    """Read nothing."""
    return Done()


@mcp.tool(annotations=ToolAnnotations(read_only_hint=False))
def write_nothing() -> Done:
    """Write nothing."""
    return Done()


if __name__ == "__main__":
    serve(mcp, DATABASE)
