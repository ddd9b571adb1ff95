"""What an exercise is: parts with points, hints, and a check that looks at a server through the protocol."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from toolworthy.render import shorten
from toolworthy.subject import Era, Subject, connect
from toolworthy.wire import Tape


class Red(Exception):
    """A part isn't right yet: what is wrong, in which tool, what was expected, what was seen; all for the learner."""

    def __init__(self, message: str, *, tool: str = "", expected: str = "", seen: str = "") -> None:
        super().__init__(message)
        self.message, self.tool, self.expected, self.seen = message, tool, expected, seen


class NoSuchPart(Exception):
    """The user named an exercise or part that doesn't exist; the message lists those that do."""


class Attempt:
    """What a check gets: the target, and random data drawn anew for every run (`seed` repeats one)."""

    def __init__(self, target: object, seed: int) -> None:
        self.target, self.seed = target, seed
        self.random = random.Random(seed)
        self.tape = Tape()

    @asynccontextmanager
    async def connect(self, era: Era = "auto") -> AsyncIterator[Subject]:
        """A fresh connection to the target. Raises TargetError as `toolworthy.connect` does."""
        async with connect(self.target, era=era) as subject:
            self.tape = subject.tape
            yield subject


@dataclass(frozen=True)
class Part:
    """One graded step. `check` returns when it is right (None, or a sentence about what it saw) and raises Red when it
    isn't; `hints` lead in steps."""

    id: str
    title: str
    points: int
    check: Callable[[Attempt], Awaitable[str | None]]
    hints: Sequence[str]


@dataclass(frozen=True)
class Exercise:
    """A notebook with answer cells and the parts that grade it."""

    id: str
    title: str
    minutes: int
    notebook: Path
    parts: Sequence[Part]
    solution: str = ""  # where to look when the hints are used up

    @property
    def points(self) -> int:
        return sum(p.points for p in self.parts)


@cache
def exercises() -> dict[str, Exercise]:
    """Every installed exercise by id, in order. Packages offer them by the entry point `toolworthy.exercises`."""
    found = [e for entry in entry_points(group="toolworthy.exercises") for e in entry.load()]
    return {e.id: e for e in sorted(found, key=lambda e: e.id)}


def find_part(identity: object) -> tuple[Exercise, Part]:
    """The exercise and part called `identity`, for example "02.1". Raises NoSuchPart."""
    parts = {p.id: (e, p) for e in exercises().values() for p in e.parts}
    if isinstance(identity, str) and identity in parts:
        return parts[identity]
    if not isinstance(identity, str):
        raise NoSuchPart(f'A part is named by a text such as "02.1", not by {shorten(identity, 40)}.')
    known = ", ".join(f"{e.parts[0].id} to {e.parts[-1].id}" for e in exercises().values())
    raise NoSuchPart(
        f'There is no part "{shorten(identity, 40)}". There are: {known or "none, since no exercises are installed"}.'
    )
