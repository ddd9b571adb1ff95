"""World, its ledger, faults and clock. No network in here."""

from __future__ import annotations

import difflib
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import ValidationError, validate_call
from pydantic_core import from_json, to_json, to_jsonable_python

from servers.backends.errors import BackendError, DomainError, UpstreamDown, UpstreamRateLimited, WrongRequest

MAX_BYTES = 1_000_000
START = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)

Outcome: TypeAlias = Literal["answered", "refused", "wrong request", "no answer", "answer lost", "rate limited", "down"]


class Clock:
    """The world's time: stands still until somebody moves it."""

    def __init__(self) -> None:
        self.now = START

    def advance(self, seconds: float) -> None:
        """Move on; a world's time never goes back."""
        if seconds < 0:
            raise ValueError(f"Time can't go back ({seconds} s).")
        self.now += timedelta(seconds=seconds)


@dataclass(frozen=True)
class TimesOut:
    """No answer comes: before the operation had its effect, or after."""

    after_effect: bool = False


@dataclass(frozen=True)
class RateLimited:
    """Answers 429 with Retry-After; nothing happens."""

    retry_after_seconds: int = 30


@dataclass(frozen=True)
class Down:
    """Answers 503; nothing happens."""


@dataclass(frozen=True)
class Slow:
    """Does what was asked and answers so many seconds later."""

    seconds: float


Fault: TypeAlias = TimesOut | RateLimited | Down | Slow


@dataclass(frozen=True)
class Unchanged:
    """What an operation with an effect returns when there was nothing to change; the asker gets `answer`."""

    answer: Any


@dataclass(frozen=True)
class Operation:
    """A function that the world offers. Its annotations are enforced; it returns anything that JSON can hold.

    It says no with a DomainError; any other exception is a bug, which a local asker sees and a remote one gets as 500.
    `recorded=False` keeps it out of the ledger: looking at a clock is no event.
    """

    function: Callable[..., Any]
    effect: bool = False
    recorded: bool = True

    @cached_property
    def checked(self) -> Callable[..., Any]:
        return validate_call(self.function)


# Called once for each world, so that every world has a state of its own; operations are named "service.verb".
Service: TypeAlias = Callable[[Clock], Mapping[str, Operation]]


@dataclass(frozen=True)
class Entry:
    """One line of the ledger: what was asked (`arguments` as JSON has them), what came of it, and when.

    `effect` says whether it changed the world, `answer` what the operation returned, whether or not that arrived.
    """

    sequence: int
    time: datetime
    operation: str
    arguments: dict[str, Any]
    effect: bool
    outcome: Outcome
    answer: Any = None


@dataclass(frozen=True)
class Reply:
    """What goes back to the asker: an answer or an error, `late` seconds after it was asked (`inf`: never)."""

    answer: Any = None
    error: BackendError | None = None
    late: float = 0.0


class World:
    """Services that can be asked, and a ledger of all that was asked. Safe to use from several threads.

    Args:
        services: What this world offers; none given means all that the course has.
    """

    def __init__(self, *services: Service) -> None:
        if not services:
            from servers.backends.world.services import SERVICES

            services = SERVICES
        self.clock = Clock()
        self.operations = {"clock.now": Operation(lambda: self.clock.now, recorded=False)}
        for service in services:
            self.operations |= service(self.clock)
        self._ledger: list[Entry] = []
        self._faults: dict[str, deque[Fault]] = defaultdict(deque)
        self._lock = threading.RLock()

    @property
    def ledger(self) -> tuple[Entry, ...]:
        """All entries so far, the oldest first."""
        with self._lock:
            return tuple(self._ledger)

    def schedule(self, operation: str, fault: Fault, times: int = 1) -> None:
        """Let the next calls of an operation fail; what is scheduled later comes after it.

        Raises:
            ValueError: No such operation, or `times` is less than 1.
        """
        if operation not in self.operations or times < 1:
            raise ValueError(f"Can't schedule {operation!r} {times} times; there are: {', '.join(self.operations)}.")
        with self._lock:
            self._faults[operation].extend([fault] * times)

    def serve(self, folder: Path | None = None) -> AbstractContextManager[str]:
        """Serve this world while the context lasts; yields the address for TOOLWORTHY_WORLD.

        It is a Unix socket where there are any, in `folder` or a new private one; else a loopback port and a secret.
        """
        from servers.backends.world.serving import serve

        return serve(self, folder)

    def perform(self, operation: str, arguments: bytes) -> Reply:
        """Do what was asked, or what a fault makes of it, and write it down: one entry a call.

        Args:
            operation: As in `operations`; any other is answered with WrongRequest.
            arguments: A JSON object of at most MAX_BYTES. Anything else is no call: WrongRequest, and no entry.
        """
        try:
            asked = from_json(arguments, allow_inf_nan=False) if len(arguments) <= MAX_BYTES else None
        except ValueError:
            asked = None
        if not isinstance(asked, dict):
            return Reply(error=WrongRequest(f"{operation} takes one JSON object of at most {MAX_BYTES} bytes."))
        with self._lock:
            faults = self._faults.get(operation)
            fault = faults.popleft() if faults else None
            outcome, effect, reply = self._answer(operation, asked, fault)
            if operation not in self.operations or self.operations[operation].recorded:
                # Parsed anew: nobody else holds, or can change, what the ledger has.
                answer = from_json(to_json(reply.answer))
                number = len(self._ledger) + 1
                entry = Entry(number, self.clock.now, operation, from_json(arguments), effect, outcome, answer)
                self._ledger.append(entry)
        return reply

    def _answer(self, operation: str, asked: dict[str, Any], fault: Fault | None) -> tuple[Outcome, bool, Reply]:
        match fault:
            case RateLimited(seconds):
                error = UpstreamRateLimited(f"{operation} has had too many calls for now.", seconds)
                return "rate limited", False, Reply(error=error)
            case Down():
                return "down", False, Reply(error=UpstreamDown(f"{operation} is out of order (status 503)."))
            case TimesOut(after_effect=False):
                return "no answer", False, Reply(late=inf)
        outcome, effect, reply = self._run(operation, asked)
        match fault:
            case TimesOut():
                return "answer lost", effect, replace(reply, late=inf)
            case Slow(late):
                return outcome, effect, replace(reply, late=late)
        return outcome, effect, reply

    def _run(self, operation: str, asked: dict[str, Any]) -> tuple[Outcome, bool, Reply]:
        it = self.operations.get(operation)
        if it is None:
            close = difflib.get_close_matches(operation, self.operations)
            return "wrong request", False, Reply(error=WrongRequest(f"There is no operation {operation!r}.", close))
        try:
            answer = it.checked(**asked)
        except ValidationError as problem:
            text = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in problem.errors())
            return "wrong request", False, Reply(error=WrongRequest(f"{operation}: {text}."))
        except DomainError as error:
            return "refused", False, Reply(error=error)
        effect = it.effect and not isinstance(answer, Unchanged)
        answer = answer.answer if isinstance(answer, Unchanged) else answer
        return "answered", effect, Reply(to_jsonable_python(answer))
