"""A world over HTTP: one route that asks for an operation. Nothing here reads or changes ledger, faults or clock."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import uvicorn
from anyio.from_thread import start_blocking_portal
from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from servers.backends.errors import (
    BackendError,
    DomainError,
    NotFound,
    Refused,
    UpstreamRateLimited,
    WrongRequest,
)
from servers.backends.upstream import forget
from servers.backends.world.core import World

MAX_BYTES = 1_000_000
# The kernel's limit for the path of a Unix socket is 104 bytes or more, its final zero included.
MAX_SOCKET_PATH = 103

_STATUS: dict[type[BackendError], int] = {NotFound: 404, Refused: 409, WrongRequest: 422, UpstreamRateLimited: 429}


@contextmanager
def serve(world: World, folder: Path | None) -> Iterator[str]:
    """Serve a world from a thread of its own; see `World.serve`."""
    with ExitStack() as stack:
        listener, address, prefix = _listen(stack, folder)
        stack.callback(forget, address)
        app = Starlette(routes=[Route(f"{prefix}/{{operation:path}}", _endpoint(world), methods=["POST"])])
        portal = stack.enter_context(start_blocking_portal())
        stack.enter_context(portal.wrap_async_context_manager(_running(app, listener)))
        yield address


def _listen(stack: ExitStack, folder: Path | None) -> tuple[socket.socket, str, str]:
    if hasattr(socket, "AF_UNIX"):
        place = folder or Path(stack.enter_context(TemporaryDirectory(prefix="world-")))
        path = place.absolute() / f"{secrets.token_hex(4)}.sock"
        if folder or len(bytes(path)) <= MAX_SOCKET_PATH:
            listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            listener.bind(str(path))
            stack.callback(path.unlink, missing_ok=True)
            return listener, f"unix:{path}", ""
    listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    # Other processes of this machine can reach the port; only the one that was told can guess the path.
    secret = secrets.token_urlsafe(24)
    return listener, f"http://127.0.0.1:{listener.getsockname()[1]}/{secret}", f"/{secret}"


@asynccontextmanager
async def _running(app: Starlette, listener: socket.socket) -> AsyncIterator[None]:
    # No logging of its own, and no signal handlers: this is a guest in somebody's notebook.
    config = uvicorn.Config(app, lifespan="off", ws="none", log_config=None, access_log=False, timeout_keep_alive=60)
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup(sockets=[listener])
    try:
        yield
    finally:
        # Not uvicorn's own shutdown: that waits for answers that never come, and at least 0.1 s.
        for each in server.servers:
            each.close()
        for connection in tuple(server.server_state.connections):
            connection.transport.abort()
        await asyncio.gather(*server.server_state.tasks)


def _endpoint(world: World) -> Any:
    async def answer(request: Request) -> Response:
        operation = request.path_params["operation"]
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BYTES:
                return _json(
                    {"error": "WrongRequest", "message": f"More than {MAX_BYTES} bytes.", "suggestions": []}, 413
                )
        reply = world.perform(operation, bytes(body))
        if reply.late:
            await _hold(request, reply.late)
        error = reply.error
        if error is None:
            return _json(reply.answer, 200)
        suggestions = error.suggestions if isinstance(error, DomainError) else []
        status = 404 if operation not in world.operations else _STATUS.get(type(error), 503)
        response = _json({"error": type(error).__name__, "message": str(error), "suggestions": suggestions}, status)
        if isinstance(error, UpstreamRateLimited):
            response.headers["Retry-After"] = str(error.retry_after_seconds)
        return response

    return answer


async def _hold(request: Request, seconds: float) -> None:
    """Wait so long, or until the asker hangs up."""
    with anyio.move_on_after(seconds):
        while (await request.receive())["type"] != "http.disconnect":
            pass


def _json(content: Any, status: int) -> Response:
    return Response(to_json(content), status, media_type="application/json")
