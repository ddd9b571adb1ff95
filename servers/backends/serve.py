"""The run line of every server file: stdio, or Streamable HTTP with `--http PORT`."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from fastmcp import FastMCP

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Need:
    """Something that a server can't do without: a line for `--help`, and a check that raises ValueError with one
    sentence when it isn't there."""

    about: str
    check: Callable[[], object]


def serve(mcp: FastMCP, *needs: Need) -> None:
    """Run a server as the command line says; returns when the client hangs up or on Ctrl-C.

    Quiet: no banner, and only errors in the log (stderr) unless FASTMCP_LOG_LEVEL says otherwise. A wrong or taken
    port, or something it needs that isn't there, ends the process with status 2 and one sentence.
    """
    needed = "no account, no key and no network" if not needs else "; ".join(need.about for need in needs)
    parser = argparse.ArgumentParser(
        usage="%(prog)s [--http PORT]",
        description=f"The MCP server {mcp.name!r}. Without options it speaks over stdin and stdout, for a host that "
        f"starts it itself. It needs {needed}.",
    )
    parser.add_argument("--http", metavar="PORT", help=f"serve http://{HOST}:PORT/mcp instead")
    port = parser.parse_args().http
    for need in needs:
        try:
            need.check()
        except ValueError as error:
            _give_up(str(error))
    level = None if os.environ.get("FASTMCP_LOG_LEVEL") else "ERROR"
    if port is None:
        # Python's own way with Ctrl-C waits for the thread that reads stdin, which is until the host hangs up.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        mcp.run(show_banner=False, log_level=level)
        return
    try:
        with _listen(port) as listener:
            # host_origin_protection is off by default, and without it any web page in a browser here could call us.
            mcp.run(
                "http",
                show_banner=False,
                log_level=level,
                host=HOST,
                port=int(port),
                host_origin_protection=True,
                allowed_hosts=[HOST, "localhost"],
                sockets=[listener],
            )
    except KeyboardInterrupt:
        sys.exit(130)


def _listen(port: str) -> socket.socket:
    if not (port.isascii() and port.isdigit() and len(port) < 6 and 1 <= int(port) <= 65535):
        _give_up(f"A port is a number from 1 to 65535, not {port!r}.")
    # With the protocol named: asyncio turns off Nagle's delay for such sockets only, and it costs 40 ms an answer.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":  # elsewhere this option would let two servers share a port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, int(port)))
        listener.listen()
    except OSError as error:
        listener.close()
        _give_up(f"Can't serve on port {port}: {error.strerror}. Choose another with --http PORT.")
    return listener


def _give_up(sentence: str) -> NoReturn:
    print(sentence, file=sys.stderr)
    sys.exit(2)
