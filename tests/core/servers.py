"""Servers that misbehave, written to files and started as processes, or made as objects. All of our own making."""

from __future__ import annotations

import sys
import time

from fastmcp import FastMCP

FILES = {
    "good.py": """
        from fastmcp import FastMCP
        mcp = FastMCP("good")
        @mcp.tool
        def add(a: int, b: int = 1) -> int:
            return a + b
        if __name__ == "__main__":
            mcp.run(show_banner=False)
        """,
    "no_run.py": "from fastmcp import FastMCP\nmcp = FastMCP('never runs')\n",
    "crashes.py": "raise RuntimeError('no database here')\n",
    "hangs.py": "import time\ntime.sleep(600)\n",
    "prints.py": "print('Hello!', flush=True)\n",
    "dies_in_call.py": """
        import os
        from fastmcp import FastMCP
        mcp = FastMCP("dies")
        @mcp.tool
        def die() -> str:
            os._exit(7)
        mcp.run(show_banner=False)
        """,
    "floods_stderr.py": "import sys\nwhile True:\n    sys.stderr.write('x' * 65536)\n",
    "syntax.py": "def broken(:\n",
}


def misbehaving() -> FastMCP:
    """A server with a tool for each way to misbehave inside the process that checks it."""
    mcp: FastMCP = FastMCP("misbehaving")

    @mcp.tool
    def loop() -> str:
        while True:
            pass

    @mcp.tool
    async def loop_async() -> str:
        while True:
            pass

    @mcp.tool
    def leave() -> str:
        sys.exit(3)

    @mcp.tool
    async def leave_async() -> str:
        sys.exit(3)

    @mcp.tool
    def sleep() -> str:
        time.sleep(3)
        return "late"

    @mcp.tool
    def interrupt() -> str:
        raise KeyboardInterrupt

    @mcp.tool
    def deep() -> str:
        return deep_down(0)

    return mcp


def deep_down(level: int) -> str:
    return deep_down(level + 1)
