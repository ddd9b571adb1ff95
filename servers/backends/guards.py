"""What a server refuses, so that nobody overuses it or what stands behind it. A host may do the same; none has to.

Guards stand in two places, each where it knows what it has to know.

At the door, as middleware: here. They see every `tools/call`, whatever is wrong with it, and nothing else: `tools/list`
is free.

- `RateLimit`: so many calls a minute, for each caller.
- `LoopCap`: the same call with the same arguments so many times a minute, for each caller.

At the upstream, as the `Gate` through which a tool asks it: module `gate`. There only what would really be asked
counts, and not what the door or the schema refused.

- `Breaker`: after so many failures in a row nothing is asked for a while; then one call tries.
- `DailyQuota`: so many results a day, for each caller. It comes last: what is refused before doesn't use it up.

| refusal | category | what the caller reads |
| --- | --- | --- |
| rate, breaker | transient | when to send the same call again (retryAfterSeconds) |
| loop | business | the answer won't change: use it, or change the arguments |
| quota | business | when it starts anew, and whom to ask |

A caller is the client of the access token; without login all are "local" and share one allowance. The quota is in the
database: it holds for all processes and over restarts. The rest is in the memory of this process: behind n processes a
caller has n times the rate, and each process finds out for itself that an upstream is down.

Time is `clock.now()`, which a world can move. In production that is the machine's wall clock, and somebody may set it.
`time.monotonic()` would not care, but nobody can move it. So every guard takes a moment that lies in the future for one
that is long past: when the clock is set back, it forgets, and locks nobody out.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from contextlib import suppress
from datetime import datetime
from math import ceil

import anyio
from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from mcp_types import CallToolRequestParams

from servers.backends import clock
from servers.backends.audit import caller
from servers.backends.errors import Refused, UpstreamError


class NotNow(UpstreamError):
    """A guard refuses for a while; nothing was asked of the upstream."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.retry_after_seconds = max(1, ceil(seconds))


def rate() -> int:
    """Calls a minute for each caller: TOOLWORTHY_RATE, or 60."""
    return _number("TOOLWORTHY_RATE", 60)


def quota() -> int:
    """Results a day for each caller: TOOLWORTHY_QUOTA, or 500."""
    return _number("TOOLWORTHY_QUOTA", 500)


def loop_cap() -> int:
    """The same call, with the same arguments, in a while, for each caller: TOOLWORTHY_LOOP_CAP, or 5."""
    return _number("TOOLWORTHY_LOOP_CAP", 5)


def check() -> None:
    """Whether these are numbers.

    Raises:
        ValueError: One isn't.
    """
    rate()
    quota()
    loop_cap()


def _number(name: str, usual: int) -> int:
    text = os.environ.get(name) or str(usual)
    if not (text.isascii() and text.isdigit() and len(text) < 8 and int(text)):
        raise ValueError(f"{name} must be a whole number from 1 to 9,999,999, not {text[:20]!r}.")
    return int(text)


class RateLimit(Middleware):
    """A bucket of tokens for each caller: a call takes one, and they come back evenly.

    Args:
        per_minute: How many come back; `rate()` unless given.
        burst: How many there are at most, so that a few calls may come at once; those of ten seconds unless given.
    """

    def __init__(self, per_minute: int | None = None, burst: int | None = None) -> None:
        self._per_minute, self._burst = per_minute, burst
        self._buckets: dict[str, tuple[float, datetime]] = {}
        self._lock = threading.Lock()

    async def on_call_tool(
        self, context: MiddlewareContext[CallToolRequestParams], call_next: CallNext[CallToolRequestParams, ToolResult]
    ) -> ToolResult:
        await anyio.to_thread.run_sync(self.take, caller())
        return await call_next(context)

    def take(self, who: str) -> None:
        """Take a token.

        Raises:
            NotNow: There is none.
        """
        now, per_minute = clock.now(), self._per_minute or rate()
        burst = float(self._burst or max(1, per_minute // 6))
        with self._lock:
            tokens, before = self._buckets.get(who, (burst, now))
            passed = max(0.0, (now - before).total_seconds())
            tokens = min(burst, tokens + passed * per_minute / 60)
            self._buckets[who] = (tokens - 1 if tokens >= 1 else tokens), now
        if tokens < 1:
            raise NotNow(f"Too many calls: there are {per_minute} a minute.", (1 - tokens) * 60 / per_minute)


class LoopCap(Middleware):
    """Tells an agent that asks the same again and again. A call that failed outside may be repeated: it isn't counted.

    Args:
        calls: How many with the same tool and arguments a caller may make (`loop_cap()` unless given) …
        seconds: … in so many seconds.
    """

    def __init__(self, calls: int | None = None, seconds: int = 60) -> None:
        self._calls, self._seconds = calls, seconds
        self._made: dict[str, list[tuple[datetime, str]]] = {}
        self._lock = threading.Lock()

    async def on_call_tool(
        self, context: MiddlewareContext[CallToolRequestParams], call_next: CallNext[CallToolRequestParams, ToolResult]
    ) -> ToolResult:
        who, message = caller(), context.message
        text = json.dumps([message.name, message.arguments or {}], sort_keys=True)
        call = hashlib.sha256(text.encode()).hexdigest()  # arguments may be large, and nobody has checked them yet
        made = await anyio.to_thread.run_sync(self.count, who, call)
        try:
            return await call_next(context)
        except (UpstreamError, ToolError) as error:
            if isinstance(error, UpstreamError) or isinstance(error.__cause__, UpstreamError):
                self.forget(who, made)
            raise

    def count(self, who: str, call: str) -> tuple[datetime, str]:
        """Count a call before it is made, so that parallel ones count as well. Returns what `forget` takes.

        Raises:
            Refused: There were too many.
        """
        now, calls = clock.now(), self._calls or loop_cap()
        with self._lock:
            made = [each for each in self._made.get(who, ()) if 0 <= (now - each[0]).total_seconds() < self._seconds]
            refused = sum(each[1] == call for each in made) >= calls
            self._made[who] = made if refused else [*made, (now, call)]
        if refused:
            raise Refused(
                f"This call was made {calls} times within {self._seconds} s with the same arguments. The answer "
                "will not change: use the one you have, or change the arguments; if neither helps, tell a person."
            )
        return now, call

    def forget(self, who: str, made: tuple[datetime, str]) -> None:
        """Take a call out of the count."""
        with self._lock, suppress(ValueError):
            self._made[who].remove(made)
