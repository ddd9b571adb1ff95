"""For whoever maintains the course: run notebooks again, and derive the exercises from the solutions.

python -m solutions.build derive             exercises/*.ipynb from solutions/*.ipynb
python -m solutions.build execute [FILE …]   run lessons and solutions (or the named files), keep the new outputs,
                                             and say which changed; then derive
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from rich.console import Console
from rich.progress import track

from toolworthy.notebook import Notebook, NotebookError, derive, read, write

ROOT = Path(__file__).resolve().parent.parent
SOLUTIONS = ROOT / "solutions"
EXERCISES = ROOT / "exercises"
LESSONS = ROOT / "notebooks"
console = Console(stderr=True)


def derived(solution: Path) -> Notebook:
    """The exercise that belongs to a solution notebook."""
    return derive(read(solution))


def derive_all() -> None:
    """Write every exercise anew."""
    for solution in sorted(SOLUTIONS.glob("*.ipynb")):
        write(EXERCISES / solution.name, derived(solution))


def execute(path: Path) -> list[str]:
    """Run a notebook from a fresh kernel and write it back. Returns one line for each cell whose output changed."""
    before = [cell.get("outputs") for cell in read(path)["cells"]]
    book = nbformat.read(path, as_version=4)
    client = NotebookClient(
        book,
        timeout=120,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    # The Python that happened to run it is not part of the lesson.
    book.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in book.cells:
        cell.get("metadata", {}).pop("execution", None)
    write(path, book)
    after = [cell.get("outputs") for cell in read(path)["cells"]]
    changed = [i for i, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    return [f"{path.name}, cell {i + 1}: {book.cells[i].source.strip().splitlines()[0]}" for i in changed]


def main(arguments: list[str]) -> int:
    """The command line. Exit code 1 when a notebook failed, 2 for a wrong call."""
    match arguments:
        case ["derive"]:
            pass
        case ["execute", *names]:
            paths = [Path(n).resolve() for n in names] or [
                *sorted(LESSONS.glob("*.ipynb")),
                *sorted(SOLUTIONS.glob("*.ipynb")),
            ]
            with tempfile.TemporaryDirectory() as home:
                # A maintainer's own progress must not show in committed outputs.
                os.environ["TOOLWORTHY_HOME"] = home
                for path in track(paths, "Running notebooks", console=console):
                    try:
                        changes = execute(path)
                    except CellExecutionError as error:
                        console.print(f"{path.name} failed:\n{error}", markup=False)
                        return 1
                    console.print("\n".join(changes) or f"{path.name}: nothing changed", markup=False)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    try:
        derive_all()
    except NotebookError as error:
        console.print(f"A solution can't be derived: {error}", markup=False)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
