"""Notebooks as data: find the answer cells of a part, derive an exercise from its solution, put a starter back."""

from __future__ import annotations

import json
import os
import re
import sys
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolworthy import render
from toolworthy.exercise import NoSuchPart, find_part

Notebook = dict[str, Any]
Cell = dict[str, Any]

_BEGIN, _END = "### BEGIN SOLUTION", "### END SOLUTION"
STUB = "# your code here"  # what stands where the solution was


class NotebookError(Exception):
    """A notebook that can't be read, or doesn't hold what was asked for; the message is one sentence."""


def read(path: Path) -> Notebook:
    """The notebook in `path`. Raises NotebookError."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise NotebookError(f"{path.name} can't be read: {error.strerror}.") from None
    except ValueError as error:
        raise NotebookError(f"{path.name} is no notebook: {error}.") from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise NotebookError(f"{path.name} is no notebook: it has no list of cells.")
    return notebook


def write(path: Path, notebook: Notebook) -> None:
    """Write as JupyterLab does (so that a saved notebook and a derived one differ only where they differ)."""
    new = path.with_suffix(".tmp")
    new.write_text(json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
    new.replace(path)


def source(cell: Cell) -> str:
    """A cell's text; nbformat allows a list of lines."""
    text = cell.get("source", "")
    return "".join(text) if isinstance(text, list) else str(text)


def answers_part(cell: Cell, part: str) -> bool:
    """Whether a cell answers `part`: by its first line `# answer 02.1`, else by its tag, else by its id."""
    if cell.get("cell_type") != "code":
        return False
    first = source(cell).lstrip().split("\n", 1)[0]
    if match := re.match(r"#\s*answer\s+([\w.]+)", first, re.IGNORECASE):
        return match[1].rstrip(".") == part
    tags = cell.get("metadata", {}).get("tags", [])
    identity = str(cell.get("id", ""))
    return (
        f"answer-{part}" in tags or re.match(rf"answer-{re.escape(part.replace('.', '-'))}(-|$)", identity) is not None
    )


def answer_cells(notebook: Notebook, part: str) -> list[Cell]:
    """All answer cells of `part`, in order; a learner may have split, copied or moved them."""
    return [c for c in notebook["cells"] if isinstance(c, dict) and answers_part(c, part)]


def clear_solutions(text: str) -> str:
    """`text` with every solution region replaced by one stub line at the region's indentation."""
    lines: list[str] = []
    inside = False
    for line in text.split("\n"):
        if _BEGIN in line:
            if inside:
                raise NotebookError(f"a second {_BEGIN} before {_END}")
            inside = True
            lines.append(line[: len(line) - len(line.lstrip())] + STUB)
        elif _END in line:
            inside = False
        elif not inside:
            lines.append(line)
    if inside:
        raise NotebookError(f"{_BEGIN} without {_END}")
    return "\n".join(lines)


def derive(solution: Notebook) -> Notebook:
    """The exercise of a solution: regions cleared, outputs gone, each answer cell carrying its starter for `reset`."""
    exercise = deepcopy(solution)
    exercise["cells"] = [c for c in exercise["cells"] if "solution-only" not in c.get("metadata", {}).get("tags", [])]
    for cell in exercise["cells"]:
        if cell["cell_type"] != "code":
            continue
        before = source(cell)
        cell["source"] = clear_solutions(before)
        cell["outputs"], cell["execution_count"] = [], None
        if cell["source"] != before:
            cell["metadata"]["toolworthy"] = {"starter": cell["source"]}
    return exercise


@dataclass(frozen=True)
class Reset:
    """What `reset` did, in words."""

    message: str
    ok: bool = True

    def __repr__(self) -> str:
        return self.message

    def _repr_html_(self) -> str:
        return render.box("plain", "reset", f"<div>{render.escape(self.message)}</div>")


def reset(part: str, notebook: str | Path | None = None) -> Reset:
    """Put the starter of `part` back into its notebook file; the old answer stays beside it, as a text cell.

    notebook: the file; by default the notebook this runs in, else the exercise's own file. Save before you call it.
    """
    try:
        exercise, _ = find_part(part)
        path = Path(notebook) if notebook else _running_notebook() or exercise.notebook
        return _reset_file(part, path, _executed_answers(part) if notebook is None else [])
    except (NoSuchPart, NotebookError) as error:
        return Reset(str(error), ok=False)


def _reset_file(part: str, path: Path, executed: list[str]) -> Reset:
    book = read(path)
    cells = answer_cells(book, part)
    if not cells:
        raise NotebookError(f"{path.name} has no cell that begins with `# answer {part}`.")
    changed = 0
    result: list[Cell] = []
    # What was run and isn't in the file would be gone after reloading: at most one text for each cell, the latest.
    here = {source(c) for c in cells} | {c.get("metadata", {}).get("toolworthy", {}).get("starter") for c in cells}
    kept_executed = [text for text in dict.fromkeys(executed) if text not in here][-len(cells) :]
    for cell in book["cells"]:
        result.append(cell)
        if not any(cell is c for c in cells):
            continue
        starter = cell.get("metadata", {}).get("toolworthy", {}).get("starter")
        if starter is None:
            # A copy the learner made, or an editor that dropped the metadata: nothing to put back, nothing to lose.
            continue
        old = source(cell)
        if old == starter:
            continue
        changed += 1
        cell["source"], cell["outputs"], cell["execution_count"] = starter, [], None
        result.append(_kept(old, f"{cell.get('id', 'answer')}-old", {c.get("id") for c in book["cells"]}))
    if not changed and all("starter" not in c.get("metadata", {}).get("toolworthy", {}) for c in cells):
        raise NotebookError(
            f"{path.name} no longer carries its starters; get the file anew: git checkout -- {path.name}"
        )
    if not changed:
        return Reset(f"The answer to {part} in {path.name} is the starter already.")
    for text in kept_executed:
        result.append(_kept(text, f"executed-{part.replace('.', '-')}-old", {c.get("id") for c in result}))
    book["cells"] = result
    write(path, book)
    return Reset(
        f"{path.name} holds the starter of {part} again, and your old answer as a text cell below it. "
        "In JupyterLab: File, Reload Notebook from Disk."
    )


def _kept(text: str, identity: str, taken: set[Any]) -> Cell:
    unique = next(i for n in range(1, 1000) if (i := f"{identity[:55]}-{n}") not in taken)
    fenced = f"Your old answer, kept by `reset`:\n\n```python\n{text}\n```"
    return {"cell_type": "markdown", "id": unique, "metadata": {"tags": ["old-answer"]}, "source": fenced}


def _running_notebook() -> Path | None:
    # JupyterLab tells the kernel which notebook it serves.
    name = os.environ.get("JPY_SESSION_NAME", "")
    return Path(name) if name.endswith(".ipynb") and Path(name).is_file() else None


def _executed_answers(part: str) -> list[str]:
    """The answers run in this kernel, in order: what the learner typed last may not be saved yet."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module else None
    history = shell.user_ns.get("In", []) if shell else []
    return [text for text in history if answers_part({"cell_type": "code", "source": text}, part)]
