"""`check` and `hint`: what a learner calls under an answer cell."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, Literal

from mcp.shared.exceptions import MCPError

from toolworthy import memory, render
from toolworthy.exercise import Attempt, Exercise, NoSuchPart, Part, Red, find_part
from toolworthy.isolate import Exited, Hung, isolated
from toolworthy.subject import TargetError, describe
from toolworthy.wire import Tape

Verdict = Literal["green", "red", "not run"]
LIMIT = 20.0  # seconds for one part; the usual part needs less than one


_turns: dict[asyncio.AbstractEventLoop, asyncio.Lock] = {}


def _one_at_a_time() -> asyncio.Lock:
    # Each check puts a world of its own behind the server; two at once would see each other's effects.
    for loop in [loop for loop in _turns if loop.is_closed()]:
        del _turns[loop]
    return _turns.setdefault(asyncio.get_running_loop(), asyncio.Lock())


class PartFailed(AssertionError):
    """A part is red, in a run that wants red parts to raise (the test suite, nbgrader)."""

    def _render_traceback_(self) -> list[str]:
        """IPython shows this: where the exception was raised says nothing about the answer."""
        return str(self).split("\n")


@dataclass(frozen=True)
class CheckResult:
    """What a check saw. `verdict` is green, red, or "not run" when there was nothing that could be checked."""

    part: str
    title: str
    verdict: Verdict
    points: int
    of: int
    message: str
    tool: str = ""
    expected: str = ""
    seen: str = ""
    next: str = ""
    seed: int = 0
    tape: Tape = field(default_factory=Tape, repr=False)

    @property
    def heading(self) -> str:
        name = f"{self.part} {self.title}".strip()
        if self.verdict == "green":
            return f"GREEN  {name}: {self.points} of {self.of} points"
        return f"{self.verdict.upper()}  {name}"

    def _facts(self) -> list[tuple[str, str]]:
        facts = [("tool", self.tool), ("expected", self.expected), ("seen", self.seen), ("next", self.next)]
        return [(name, value) for name, value in facts if value]

    def __repr__(self) -> str:
        lines = [self.heading, *([self.message] if self.message else [])]
        return "\n".join(lines + [f"  {name}: {value}" for name, value in self._facts()])

    def _repr_html_(self) -> str:
        kind = {"green": "good", "red": "bad", "not run": "note"}[self.verdict]
        body = f"<div>{render.escape(self.message)}</div>" if self.message else ""
        rows = "".join(
            f'<tr><th scope="row" style="text-align:left;vertical-align:top">{name}</th>'
            f'<td style="text-align:left;white-space:pre-wrap">{render.escape(value)}</td></tr>'
            for name, value in self._facts()
        )
        body += f"<table>{rows}</table>" if rows else ""
        if self.verdict == "red" and len(self.tape):
            body += f"<details><summary>what crossed the wire ({len(self.tape)} messages)</summary>"
            body += self.tape._repr_html_() + "</details>"
        return render.box(kind, self.heading, body)


class Pending:
    """What `check(...)` returns before it is awaited. Shown by itself, it says what is missing."""

    def __init__(self, part: object, target: object, seed: int | None) -> None:
        self._arguments = (part, target, seed)

    def __await__(self) -> Generator[Any, None, CheckResult]:
        return _check(*self._arguments).__await__()

    def __repr__(self) -> str:
        return f"Nothing was checked yet. Write: await check({self._arguments[0]!r}, …)"


def check(part: str, target: object, *, seed: int | None = None) -> Pending:
    """Check one part of an exercise: `await check("02.1", mcp)`.

    target: the server: a FastMCP or MCPServer object, a file, a command as a list, a URL, a host configuration.
    seed: repeats a run with the same data; without it data are drawn anew.

    Shows the result and never raises, whatever the server does; except that with TOOLWORTHY_ON_FAIL=raise (or under
    nbgrader) a part that isn't green raises PartFailed.
    """
    return Pending(part, target, seed)


async def _check(identity: object, target: object, seed: int | None) -> CheckResult:
    seed = random.SystemRandom().randrange(10**6) if seed is None else seed
    try:
        _, part = find_part(identity)
    except NoSuchPart as error:
        if asyncio.iscoroutine(target):
            target.close()
        return _done(CheckResult(render.shorten(str(identity), 40), "", "not run", 0, 0, str(error)))
    attempt = Attempt(target, seed)
    try:
        verdict: Verdict = "green"
        async with _one_at_a_time():
            note = await isolated(lambda: part.check(attempt), LIMIT)
        said = Red(note or "")
    except (asyncio.CancelledError, KeyboardInterrupt):
        raise  # the learner pressed stop
    except BaseException as error:
        verdict, said = _explain(error, describe(target))
    if verdict != "not run":
        memory.note(part.id, green=verdict == "green", tried=True)
    return _done(
        CheckResult(
            part.id,
            part.title,
            verdict,
            part.points if verdict == "green" else 0,
            part.points,
            said.message,
            said.tool,
            said.expected,
            said.seen,
            f'hint("{part.id}")' if verdict == "red" else "",
            seed,
            attempt.tape,
        )
    )


def _explain(error: BaseException, label: str) -> tuple[Verdict, Red]:
    if isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        return _explain(error.exceptions[0], label)
    match error:
        case Red():
            return "red", error
        case TargetError():
            return "not run", Red(str(error))
        case Hung():
            return "red", Red(
                f"The {label} was still busy after {LIMIT:g} seconds and was stopped.",
                expected="every call ends; most within a few milliseconds",
                seen="a call that doesn't: look for an endless loop, a blocking wait, or `time.sleep` in an async tool",
            )
        case Exited():
            return "red", Red(
                f"A tool of {label} ended the whole program.",
                expected="a tool returns a value or raises an error",
                seen=f"{error}: take `sys.exit` or `exit` out of the tool",
            )
        case TimeoutError():
            return "red", Red(
                f"A call to {label} got no answer in time.",
                expected="an answer within 10 seconds",
                seen="none: look for an endless loop or a wait in the tool",
            )
        case MCPError() if "Connection closed" in str(error):
            return "red", Red(
                f"The {label} ended while it was being called.",
                expected="a server that goes on serving after every call",
                seen="the connection closed: look for os._exit, a crash, or a kill",
            )
        case MCPError():
            return "red", Red(
                f"The {label} answered with a JSON-RPC error instead of a result.",
                expected="a result of `tools/call`",
                seen=render.shorten(str(error)),
            )
        case _:
            return "red", Red(
                f"The check could not go on with {label}.",
                expected="a server that keeps to the protocol",
                seen=render.shorten(f"{type(error).__name__}: {error}"),
            )


def _done(result: CheckResult) -> CheckResult:
    wants_raise = os.environ.get("TOOLWORTHY_ON_FAIL") == "raise" or "NBGRADER_EXECUTION" in os.environ
    if wants_raise and result.verdict != "green":
        raise PartFailed(repr(result)) from None
    return result


@dataclass(frozen=True)
class Hint:
    """The hints seen so far for one part, and how to get the next."""

    part: str
    steps: list[str]
    after: str

    def __repr__(self) -> str:
        return "\n".join([*(f"{i}. {s}" for i, s in enumerate(self.steps, 1)), self.after])

    def _repr_html_(self) -> str:
        body = "<ol>" + "".join(f"<li>{render.escape(s)}</li>" for s in self.steps) + "</ol>" if self.steps else ""
        return render.box(
            "plain", f"Hints for {self.part}" if self.part else "No hint", body + render.escape(self.after)
        )


def hint(part: str) -> Hint:
    """The next hint for a part: every call shows one step more, and at last where the solution is."""
    try:
        exercise, found = find_part(part)
    except NoSuchPart as error:
        return Hint("", [], str(error))
    seen = min(memory.load().get(found.id, {"hints": 0})["hints"] + 1, len(found.hints))
    memory.note(found.id, hints=seen)
    return Hint(found.id, list(found.hints[:seen]), _what_next(exercise, found, seen))


def _what_next(exercise: Exercise, part: Part, seen: int) -> str:
    if seen < len(part.hints):
        return f'Still stuck? hint("{part.id}") again shows step {seen + 1} of {len(part.hints)}.'
    return (
        f"That was the last step. A full answer: {exercise.solution}"
        if exercise.solution
        else "That was the last step."
    )
