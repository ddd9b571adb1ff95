"""The server's side of a world: ask it to do something, wherever it is."""

from __future__ import annotations

import os
import time
from contextvars import ContextVar
from typing import Any
from urllib.parse import quote

from pydantic_core import to_json

from servers.backends.errors import (
    DomainError,
    Forbidden,
    NotFound,
    Refused,
    UpstreamDown,
    UpstreamTimeout,
    WrongRequest,
)
from servers.backends.upstream import send, time_limit
from servers.backends.world.core import World

# What a server acts on when nobody gave it another: no socket, no set-up, gone with the process.
local_world = World()

# Set by whoever observes several servers in one process: what runs in this context is asked to act on this world.
here: ContextVar[str | None] = ContextVar("toolworthy_world", default=None)

_ERRORS: dict[str, type[DomainError]] = {
    error.__name__: error for error in (NotFound, Refused, Forbidden, WrongRequest)
}


def ask(operation: str, /, **arguments: Any) -> Any:
    """Ask the world that TOOLWORTHY_WORLD names (`unix:/path` or `http://…`), else `local_world`.

    Args:
        operation: "service.verb", as in "weather.current".
        arguments: Anything that JSON can hold; dates go as ISO text.

    Returns:
        The answer in JSON's types.

    Raises:
        UpstreamTimeout: No answer within the time limit (TOOLWORTHY_TIME_LIMIT seconds, 5 unless set). A local world
            raises it at once.
        UpstreamRateLimited: Too many calls.
        UpstreamDown: The service is out of order, or there is no world at that address.
        NotFound: The service doesn't have what was asked for.
        Refused: The service's rules forbid it.
        Forbidden: This account may not.
        WrongRequest: There is no such operation, or it doesn't take these arguments.
    """
    try:
        body = to_json(arguments)
    except ValueError as error:
        raise WrongRequest(f"{operation} takes arguments that JSON can hold.") from error
    address = here.get() or os.environ.get("TOOLWORTHY_WORLD")
    return _ask_remote(address, operation, body) if address else _ask_local(operation, body)


def _ask_local(operation: str, body: bytes) -> Any:
    reply, limit = local_world.perform(operation, body), time_limit()
    if reply.late > limit:
        raise UpstreamTimeout(f"{operation} didn't answer within {limit:g} s.")
    time.sleep(reply.late)
    if reply.error:
        raise reply.error
    return reply.answer


def _ask_remote(address: str, operation: str, body: bytes) -> Any:
    response = send(operation, address, "POST", f"/{quote(operation, safe='')}", content=body)
    try:
        content = response.json()
        if response.is_success:
            return content
        error = _ERRORS[content["error"]](content["message"], content["suggestions"])
    except (ValueError, KeyError, TypeError) as problem:
        raise UpstreamDown(f"{operation} answered nonsense (status {response.status_code}).") from problem
    raise error
