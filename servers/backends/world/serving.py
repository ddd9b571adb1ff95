"""A world over HTTP: one route that asks for an operation. Nothing here reads or changes ledger, faults or clock."""

from __future__ import annotations

import asyncio
import atexit
import logging
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import anyio
import uvicorn
from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from servers.backends.errors import (
    BackendError,
    DomainError,
    Forbidden,
    NotFound,
    Refused,
    UpstreamDown,
    UpstreamRateLimited,
    WrongRequest,
)
from servers.backends.upstream import forget
from servers.backends.world.core import MAX_BYTES, World

# The kernel's limit for the path of a Unix socket is 104 bytes or more, its final zero included.
MAX_SOCKET_PATH = 103

_STATUS: dict[type[BackendError], int] = {
    NotFound: 404,
    Refused: 409,
    Forbidden: 403,
    WrongRequest: 422,
    UpstreamRateLimited: 429,
    UpstreamDown: 503,
}

# Whoever sends nonsense must not make a notebook print warnings; a program that sets up logging gets them.
logging.getLogger("uvicorn").addHandler(logging.NullHandler())


@contextmanager
def serve(world: World, folder: Path | None) -> Iterator[str]:
    """Serve a world from a thread of its own; see `World.serve`."""
    with ExitStack() as stack:
        # A notebook may end without leaving the context: its thread must not hold up the exit, nor its folder stay.
        atexit.register(stack.close)
        stack.callback(atexit.unregister, stack.close)
        listener, address, prefix = _listen(stack, folder)
        stack.callback(forget, address)
        app = Starlette(routes=[Route(f"{prefix}/{{operation:path}}", _endpoint(world), methods=["POST"])])
        started: Future[Callable[[], object]] = Future()
        thread = Thread(target=lambda: asyncio.run(_run(app, listener, started)), name="world", daemon=True)
        thread.start()
        stack.callback(thread.join)
        stack.callback(started.result(timeout=10))
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


async def _run(app: Starlette, listener: socket.socket, started: Future[Callable[[], object]]) -> None:
    """Serve until the function is called that `started` receives."""
    # No logging of its own, and no signal handlers: this is a guest in somebody's notebook.
    config = uvicorn.Config(app, lifespan="off", ws="none", log_config=None, access_log=False, timeout_keep_alive=60)
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup(sockets=[listener])
    stop = asyncio.Event()
    started.set_result(partial(asyncio.get_running_loop().call_soon_threadsafe, stop.set))
    await stop.wait()
    # Not uvicorn's own shutdown: that waits for answers that never come, and at least 0.1 s.
    for each in server.servers:
        each.close()
    for connection in tuple(server.server_state.connections):
        connection.transport.abort()
    await asyncio.gather(*server.server_state.tasks)


def _endpoint(world: World) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        operation, body = request.path_params["operation"], bytearray()
        try:
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_BYTES:  # enough for `perform` to refuse it
                    break
        except ClientDisconnect:
            return Response(status_code=400)
        reply = world.perform(operation, bytes(body))
        if reply.late:
            await _hold(request, reply.late)
        if reply.error:
            return _problem(reply.error, known=operation in world.operations)
        return _json(reply.answer, 200)

    return answer


async def _hold(request: Request, seconds: float) -> None:
    """Wait so long, or until the asker hangs up."""
    with anyio.move_on_after(seconds):
        while (await request.receive())["type"] != "http.disconnect":
            pass


def _problem(error: BackendError, known: bool) -> Response:
    kind = next((kind for kind in _STATUS if isinstance(error, kind)), Refused)
    suggestions = error.suggestions if isinstance(error, DomainError) else ()
    content = {"error": kind.__name__, "message": str(error), "suggestions": suggestions}
    response = _json(content, _STATUS[kind] if known else 404)
    if isinstance(error, UpstreamRateLimited):
        response.headers["Retry-After"] = str(error.retry_after_seconds)
    return response


def _json(content: Any, status: int) -> Response:
    return Response(to_json(content), status, media_type="application/json")
