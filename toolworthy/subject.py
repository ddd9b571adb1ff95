"""From what a user names (a server object, file, command, URL, host configuration) to a connected client."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TextIO

import anyio
import mcp_types
from fastmcp import Client, FastMCP
from fastmcp.client.transports import ClientTransport, FastMCPTransport, StdioTransport, infer_transport
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError

from toolworthy.render import shorten
from toolworthy.wire import RecordingTransport, Tape

Era = Literal["auto", "handshake", "modern"]
_MODES = {"auto": "auto", "handshake": "legacy", "modern": "2026-07-28"}


class TargetError(Exception):
    """What the user named isn't a server that can be reached. The message is one sentence that says what to do."""

    def _render_traceback_(self) -> list[str]:
        """IPython shows this in place of a traceback: the sentence is all that helps."""
        return [str(self)]


@dataclass
class Subject:
    """A connected client, what `tools/list` said, and the tape of the connection."""

    client: Client[Any]
    tools: list[mcp_types.Tool]
    tape: Tape
    label: str
    revision: str  # the protocol revision both sides agreed on, for example "2026-07-28"
    call_limit: float = 10.0

    def tool(self, name: str) -> mcp_types.Tool | None:
        """The listed tool called `name`, or None."""
        return next((t for t in self.tools if t.name == name), None)

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> mcp_types.CallToolResult:
        """Call a tool as a host does. A tool error is a result; a JSON-RPC error raises `mcp.MCPError`; after
        `call_limit` seconds without an answer it raises `TimeoutError`."""
        with anyio.fail_after(self.call_limit):
            return await self.client.call_tool_mcp(name, dict(arguments or {}))


def describe(target: object) -> str:
    """How messages name a target."""
    if isinstance(target, FastMCP | MCPServer):
        return f"server {shorten(target.name, 60)!r}"
    if isinstance(target, list | tuple):
        return " ".join(map(str, target))
    if isinstance(target, Mapping):
        return "host configuration"
    return shorten(str(target), 120) if isinstance(target, str | Path) else f"{type(target).__name__} object"


def transport_for(target: object, log: _Tail | None = None) -> ClientTransport:
    """The transport that reaches `target`; stderr of a started process goes to `log`.

    Raises TargetError, in one sentence, for anything that names no server.
    """
    if isinstance(target, ClientTransport):
        return target
    if isinstance(target, FastMCP | MCPServer):
        return FastMCPTransport(target)
    if target is None:
        raise TargetError(
            "There is no server here: the target is None. Run the cell that makes `mcp = FastMCP(...)` first."
        )
    if inspect.iscoroutine(target) or inspect.isawaitable(target):
        if inspect.iscoroutine(target):
            target.close()
        raise TargetError("The target is a coroutine, not a server: write `await` before the call that makes it.")
    if isinstance(target, Mapping):
        return _from_configuration(dict(target), "the host configuration")
    if isinstance(target, list | tuple):
        return _from_command([str(part) for part in target], log)
    if isinstance(target, str) and target.startswith(("http://", "https://")):
        try:
            return infer_transport(target)
        except ValueError as error:
            raise TargetError(f"{shorten(target, 120)!r} is no URL that can be used: {_first_line(error)}.") from None
    if isinstance(target, str | Path):
        return _from_file(str(target), log)
    raise TargetError(
        f"An object of type {type(target).__name__} is no server: give the FastMCP object, a file, a command or a URL."
    )


def _from_command(command: list[str], log: _Tail | None) -> ClientTransport:
    if not command:
        raise TargetError("The command is empty: write the program and its arguments, as in `-- python server.py`.")
    if shutil.which(command[0]) is None:
        raise TargetError(f"The command {command[0]!r} was not found: check its spelling, or give its full path.")
    # The user's own environment: whoever types a command expects it to see what the terminal sees.
    return StdioTransport(
        command[0], command[1:], env=dict(os.environ), keep_alive=False, log_file=log.file if log else None
    )


def _from_file(name: str, log: _Tail | None) -> ClientTransport:
    path, colon, attribute = name.rpartition(":")
    if not colon or not path.endswith(".py"):
        path, attribute = name, ""
    file = Path(path)
    if not _exists(file):
        raise TargetError(
            f"There is no file {shorten(path, 120)!r} in {Path.cwd().name or '/'!r}, and it is no URL either."
        )
    if file.is_dir():
        raise TargetError(f"{path!r} is a folder: name the server's file in it.")
    if file.suffix == ".json":
        try:
            return _from_configuration(json.loads(file.read_text(encoding="utf-8")), repr(path))
        except (ValueError, OSError, RecursionError) as error:
            raise TargetError(f"{path!r} can't be read as JSON: {_first_line(error)}.") from None
    if file.suffix == ".py":
        command = [sys.executable, str(file)]
        if attribute:
            command = [sys.executable, "-m", "fastmcp.cli", "run", name, "--no-banner", "--log-level", "ERROR"]
        return _from_command(command, log)
    if file.suffix in (".js", ".mjs", ".cjs"):
        return _from_command(["node", str(file)], log)
    raise TargetError(
        f"{path!r} is no .py, .js or .json file: to start another kind of server, give its command after `--`."
    )


def _exists(file: Path) -> bool:
    try:
        return file.exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _from_configuration(configuration: object, where: str) -> ClientTransport:
    servers = configuration.get("mcpServers") if isinstance(configuration, dict) else None
    if not isinstance(configuration, dict) or not isinstance(servers, dict) or not servers:
        raise TargetError(f"{where} names no server: it needs an object `mcpServers` with at least one entry.")
    for name, entry in servers.items():
        keys = entry if isinstance(entry, dict) else {}
        if not isinstance(keys.get("command", keys.get("url")), str):
            raise TargetError(
                f"{where} is no valid host configuration: the server {shorten(name, 60)!r} needs a `command` (a text, "
                "with `args`) or a `url`."
            )
    try:
        return infer_transport(configuration)
    except Exception as error:  # whatever the library finds wrong, its first line says what
        raise TargetError(f"{where} is no valid host configuration: {_first_line(error)}.") from None


def _first_line(error: BaseException) -> str:
    return shorten((str(error).strip().splitlines() or [type(error).__name__])[0].rstrip("."), 300)


@asynccontextmanager
async def connect(
    target: object, *, era: Era = "auto", limit: float = 15.0, call_limit: float = 10.0
) -> AsyncIterator[Subject]:
    """Connect to `target` and list its tools.

    target: FastMCP or MCPServer object, path, "file.py:object", command as a list, URL, host configuration.
    era: "auto" (the newest both speak), "handshake" (2025-11-25 and before), "modern" (2026-07-28).
    limit: seconds for connecting and listing; call_limit: seconds for one call.

    Raises TargetError when there is no server there or it doesn't answer as one.
    """
    label = describe(target)
    with _last_words() as log:
        tape = Tape()
        transport = RecordingTransport(transport_for(target, log), tape)
        client = Client(transport, mode=_MODES[era], init_timeout=limit, log_handler=_ignore_logs)
        try:
            with anyio.fail_after(limit):
                await client.__aenter__()
        except TimeoutError:
            raise TargetError(f"The {label} did not answer within {limit:g} seconds.{log.said()}") from None
        except (RuntimeError, MCPError, OSError, ValueError) as error:
            raise TargetError(f"No MCP connection to {label}: {_reason(error, tape)}.{log.said()}") from None
        try:
            try:
                with anyio.fail_after(limit):
                    tools = await client.list_tools()
            except TimeoutError:
                raise TargetError(
                    f"The {label} connected, but did not list its tools within {limit:g} seconds."
                ) from None
            except (MCPError, RuntimeError, ValueError) as error:
                raise TargetError(f"The {label} connected, but `tools/list` failed: {_reason(error, tape)}.") from None
            yield Subject(client, tools, tape, label, str(client.protocol_version), call_limit)
        finally:
            with suppress(Exception):
                await client.__aexit__(None, None, None)
            with suppress(Exception):
                await transport.close()


async def _ignore_logs(message: object) -> None:
    """A server's log notifications are on the tape; the default handler would print them into the cell."""


def _reason(error: BaseException, tape: Tape) -> str:
    text = str(error).removeprefix("Client failed to connect: ").strip().rstrip(".")
    if text == "Connection closed":
        text = "it ended before it answered (a Python server ends with `mcp.run()`)"
    if any(m.kind == "noise" for m in tape):
        text += "; what it printed on stdout is no JSON-RPC"
    return shorten(" ".join(text.split()) or type(error).__name__, 300)


class _Tail:
    """What a started process writes to stderr: read as it comes, and only the end is kept, however much it is."""

    end = b""

    @cached_property
    def file(self) -> TextIO:
        """What the process gets as its stderr; made when the first process asks for it."""
        reading, writing = os.pipe()
        threading.Thread(target=self._drain, args=(reading,), name="toolworthy-stderr", daemon=True).start()
        return os.fdopen(writing, "w")

    def _drain(self, reading: int) -> None:
        with os.fdopen(reading, "rb", buffering=0) as pipe:
            while piece := pipe.read(65536):
                self.end = (self.end + piece)[-8192:]

    def said(self) -> str:
        """The last line, as a sentence to append; "" where there is none."""
        if "file" not in vars(self):
            return ""
        time.sleep(0.05)  # what a process wrote before it ended may still be on its way
        lines = self.end.decode(errors="replace").strip().splitlines()
        return f" Its last words: {shorten(lines[-1], 200).rstrip('.')}." if lines else ""


@contextmanager
def _last_words() -> Iterator[_Tail]:
    tail = _Tail()
    try:
        yield tail
    finally:
        if "file" in vars(tail):
            tail.file.close()
