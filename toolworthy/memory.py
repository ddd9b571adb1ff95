"""What a learner has done so far, kept in one local file."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from toolworthy import render
from toolworthy.exercise import exercises


def home() -> Path:
    """The folder for what toolworthy keeps: `TOOLWORTHY_HOME`, else the user's data folder."""
    return Path(os.environ.get("TOOLWORTHY_HOME") or platformdirs.user_data_dir("toolworthy", appauthor=False))


def _file() -> Path:
    return home() / "progress.json"


def load() -> dict[str, dict[str, Any]]:
    """Part id → {"green": bool, "tries": int, "hints": int}. A file that can't be read is set aside, not deleted."""
    try:
        parts = json.loads(_file().read_text(encoding="utf-8"))["parts"]
        return {
            str(k): {"green": bool(v["green"]), "tries": int(v["tries"]), "hints": int(v["hints"])}
            for k, v in parts.items()
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        with suppress(OSError):
            _file().replace(_file().with_suffix(".unreadable.json"))
        return {}


def note(part: str, *, green: bool = False, tried: bool = False, hints: int = 0) -> None:
    """Remember one event. Once green stays green. A folder that can't be written costs the memory, never the check."""
    state = load()
    entry = state.setdefault(part, {"green": False, "tries": 0, "hints": 0})
    entry["green"] = entry["green"] or green
    entry["tries"] += tried
    entry["hints"] = max(entry["hints"], hints)
    with suppress(OSError):
        home().mkdir(parents=True, exist_ok=True)
        # Written beside and moved over: two notebooks at once, or a power cut, never leave half a file.
        with tempfile.NamedTemporaryFile("w", dir=home(), delete=False, encoding="utf-8", suffix=".tmp") as new:
            json.dump({"parts": state}, new, indent=1)
        os.replace(new.name, _file())


@dataclass(frozen=True)
class Progress:
    """A table of exercises and parts: points reached, tries, hints used."""

    rows: list[list[object]]
    reached: int
    total: int

    _columns = ("part", "what", "state", "points", "tries", "hints used")

    def __repr__(self) -> str:
        lines = [f"{self.reached} of {self.total} points"]
        lines += [f"{r[0]}  {r[2]:<10} {r[3]:<7} {r[1]}" for r in self.rows]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return render.box(
            "plain", f"{self.reached} of {self.total} points", render.table(list(self._columns), self.rows)
        )


def progress(exercise: str = "") -> Progress:
    """What is green and what isn't yet, in one exercise (such as "02") or in all that are installed.

    Survives a restart of notebook and machine.
    """
    state = load()
    rows: list[list[object]] = []
    reached = total = 0
    for identity, found in exercises().items():
        if exercise not in ("", identity):
            continue
        for part in found.parts:
            entry = state.get(part.id, {"green": False, "tries": 0, "hints": 0})
            word = "green" if entry["green"] else "red" if entry["tries"] else "not tried"
            points = part.points if entry["green"] else 0
            reached, total = reached + points, total + part.points
            rows.append([part.id, part.title, word, f"{points} of {part.points}", entry["tries"], entry["hints"]])
    return Progress(rows, reached, total)
