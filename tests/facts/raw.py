"""Raw JSON-RPC to a server object, with no MCP client in between, in any revision."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import mcp_types
from fastmcp import FastMCP
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
ALL = (*HANDSHAKE, MODERN)
ME = {"name": "facts", "version": "0"}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": ME,
    "io.modelcontextprotocol/clientCapabilities": {},
}
Json = dict[str, Any]


def talk(server: FastMCP, revision: str, *requests: tuple[str, Json]) -> list[Json]:
    """Open a connection in `revision`, send the requests one by one, and return all replies, the opening's first.

    With the revision "none" nothing is opened, and requests go as they are.
    """

    async def go() -> list[Json]:
        low = server._mcp_server
        async with (
            server._lifespan_manager(),
            create_client_server_memory_streams() as ((read, write), (server_read, server_write)),
            anyio.create_task_group() as group,
        ):
            group.start_soon(lambda: low.run(server_read, server_write, low.create_initialization_options()))

            async def send(message: Json) -> None:
                typed = mcp_types.jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0"} | message, by_name=False)
                await write.send(SessionMessage(typed))

            async def ask(number: int, method: str, params: Json) -> Json:
                await send({"id": number, "method": method, "params": params})
                with anyio.fail_after(5):
                    while True:
                        message = (await read.receive()).message
                        reply = message.model_dump(by_alias=True, mode="json", exclude_unset=True)
                        if reply.get("id") == number:
                            return reply

            if revision == MODERN:
                replies = [await ask(1, "server/discover", {"_meta": ENVELOPE})]
            elif revision == "none":
                replies = []
            else:
                opening = {"protocolVersion": revision, "capabilities": {}, "clientInfo": ME}
                replies = [await ask(1, "initialize", opening)]
                await send({"method": "notifications/initialized"})
            for number, (method, params) in enumerate(requests, 2):
                envelope = {"_meta": ENVELOPE} if revision == MODERN else {}
                replies.append(await ask(number, method, params | envelope))
            group.cancel_scope.cancel()
        return replies

    return asyncio.run(go())


def call(server: FastMCP, revision: str, name: str, arguments: Any) -> Json:
    """The reply to one `tools/call`."""
    return talk(server, revision, ("tools/call", {"name": name, "arguments": arguments}))[1]


def listed(server: FastMCP, revision: str) -> Json:
    """The first tool that `tools/list` shows, as raw JSON."""
    return talk(server, revision, ("tools/list", {}))[1]["result"]["tools"][0]
