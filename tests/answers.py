"""Answers of exercises as the suite runs them: from a solution notebook, or from a file in right_ and wrong_answers."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType

from toolworthy.exercise import Exercise, exercises
from toolworthy.notebook import answer_cells, read, source

ROOT = Path(__file__).resolve().parent.parent
EXERCISES = list(exercises().values())
PARTS = [(exercise, part) for exercise in EXERCISES for part in exercise.parts]


@dataclass(frozen=True)
class Answer:
    """An answer file. A wrong one's docstring begins with the part it is about and the words the learner must read:
    `02.2: an abbreviation`. The code runs on top of the solution, unless the file makes a server of its own."""

    path: Path

    @property
    def exercise(self) -> Exercise:
        return exercises()[self.path.parent.name.removeprefix("ex")]

    @property
    def code(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def headline(self) -> tuple[str, str]:
        first = (ast.get_docstring(ast.parse(self.code)) or "").splitlines()[0]
        match = re.fullmatch(r"(\d\d\.\d): (.+)", first)
        assert match, (
            f"{self.path.name}: the docstring begins with the part and the words that must be read, not {first!r}"
        )
        return match[1], match[2]

    def full_source(self) -> str:
        own_server = re.search(r"^mcp = ", self.code, re.MULTILINE) is not None
        return self.code if own_server else f"{solution_source(self.exercise)}\n\n{self.code}"


def answers(kind: str) -> list[Answer]:
    """Every answer file of `kind` (right_answers, wrong_answers), in order."""
    return [Answer(p) for p in sorted((ROOT / "tests" / kind).glob("ex*/*.py"))]


def solution_source(exercise: Exercise, folder: str = "solutions") -> str:
    """Set-up and answer cells of an exercise's notebook, joined in order."""
    book = read(ROOT / folder / exercise.notebook.name)
    wanted = [c for c in book["cells"] if "setup" in c.get("metadata", {}).get("tags", [])]
    for part in exercise.parts:
        wanted += answer_cells(book, part.id)
    return "\n\n".join(source(c) for c in wanted)


async def run(code: str) -> object:
    """Run answer code as a notebook does, top-level await included, and return its `mcp`. Only for our own answers:
    what strangers hand in runs in the sandbox."""
    # A real module, since dataclasses and pydantic look theirs up.
    module = sys.modules["answer"] = ModuleType("answer")
    compiled: CodeType = compile(code, "answer", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = eval(compiled, module.__dict__)
    if inspect.isawaitable(result):
        await result
    return getattr(module, "mcp", None)
