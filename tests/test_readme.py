"""What the README shows is run, and what it points to exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.answers import EXERCISES, ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = [
    line.split("#")[0].split()
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
]
AUDITS = [words for words in SHOWN if words and words[0] == "toolworthy"]


def test_the_python_example_runs_and_finds_something() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "violations in 1 tool" in done.stdout and "name-verb" in done.stdout


@pytest.mark.parametrize("words", AUDITS, ids=" ".join)
def test_the_audits_shown_run(words: list[str]) -> None:
    bin_ = Path(sys.executable).parent
    command = [str(bin_ / w) if w in ("toolworthy", "python") else w for w in words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.returncode == 1 and done.stderr == "", done


def test_make_has_the_two_commands() -> None:
    for words in (w for w in SHOWN if w and w[0] == "make"):
        done = subprocess.run([*words, "--dry-run"], capture_output=True, text=True, cwd=ROOT, timeout=60)
        assert done.returncode == 0 and f"start.py {words[1]}" in done.stdout


@pytest.mark.parametrize(
    "path", [ROOT / "README.md", *sorted((ROOT / "notebooks").glob("*.ipynb")), *(e.notebook for e in EXERCISES)]
)
def test_relative_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "\n".join(c.source for c in nbformat.reads(text, as_version=4).cells if c.cell_type == "markdown")
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (path.parent / link).exists(), f"{path.name} points to {link}, which isn't there"


def test_the_map_of_lessons_has_every_notebook_with_the_minutes_it_states() -> None:
    for path in [*sorted((ROOT / "notebooks").glob("*.ipynb")), *(e.notebook for e in EXERCISES)]:
        row = next(line for line in README.splitlines() if path.name in line and line.startswith("|"))
        book = nbformat.read(path, as_version=4)
        first = book.cells[0].source
        minutes = re.search(r"\*\*(\d+) minutes", first)
        assert minutes and f"| {minutes[1]} |" in row
    for exercise in EXERCISES:
        assert f"**{exercise.minutes} minutes**" in nbformat.read(exercise.notebook, as_version=4).cells[0].source
