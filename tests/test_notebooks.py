"""Notebooks as a whole: red and green under pytest, quiet, tidy, and as good as the server files they end with."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from fastmcp import FastMCP

from servers.weather.described import mcp as described
from tests.answers import EXERCISES, ROOT, run
from toolworthy import connect
from toolworthy.exercise import Exercise

LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SOLUTIONS = sorted((ROOT / "solutions").glob("*.ipynb"))
STAGES: list[tuple[str, str, FastMCP]] = [("02_names_and_descriptions.ipynb", "stage-described", described)]


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.id)
@pytest.mark.parametrize("solved", [False, True], ids=["as shipped", "solved"])
def test_under_pytest_an_exercise_is_red_as_shipped_and_green_when_solved(
    exercise: Exercise, solved: bool, tmp_path: Path
) -> None:
    """Cell by cell: each check cell fails as shipped, no other cell does, and all pass when solved."""
    source = ROOT / ("solutions" if solved else "exercises") / exercise.notebook.name
    book = Path(shutil.copy(source, tmp_path))
    environment = {**os.environ, "TOOLWORTHY_ON_FAIL": "raise", "PYTEST_ADDOPTS": ""}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--nbval-lax",
        "-p",
        "no:cacheprovider",
        "-o",
        "addopts=",
        "-v",
        str(book),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=300)
    outcome = {int(n): word for n, word in re.findall(r"::Cell (\d+) (PASSED|FAILED)", done.stdout)}
    code = [c.source for c in nbformat.read(book, as_version=4).cells if c.cell_type == "code"]
    assert len(outcome) == len(code), done.stdout + done.stderr
    for i, text in enumerate(code):
        failed = text.startswith("await check(") and not solved
        assert outcome[i] == ("FAILED" if failed else "PASSED"), text
    assert sum(text.startswith("await check(") for text in code) == len(exercise.parts)


async def listing(server: Any) -> list[dict[str, Any]]:
    async with connect(server) as subject:
        return [t.model_dump(by_alias=True, exclude_none=True) for t in subject.tools]


@pytest.mark.parametrize(("lesson", "tag", "file"), STAGES, ids=lambda v: v if isinstance(v, str) else "")
def test_the_code_a_lesson_ends_with_is_the_server_of_that_stage(lesson: str, tag: str, file: FastMCP) -> None:
    book = nbformat.read(ROOT / "notebooks" / lesson, as_version=4)
    (cell,) = [c.source for c in book.cells if tag in c.metadata.get("tags", [])]

    async def both() -> tuple[Any, Any]:
        imports = "from fastmcp import FastMCP\nfrom toolworthy import connect\n"
        return await listing(await run(imports + cell)), await listing(file)

    taught, shipped = asyncio.run(both())
    assert taught == shipped


@pytest.mark.parametrize("path", [*LESSONS, *SOLUTIONS], ids=lambda p: p.stem)
def test_a_committed_notebook_is_run_quiet_and_says_nothing_of_the_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    book = nbformat.reads(text, as_version=4)
    nbformat.validate(book)
    code = [c for c in book.cells if c.cell_type == "code"]
    assert [c.execution_count for c in code] == list(range(1, len(code) + 1)), "run: python -m solutions.build execute"
    for cell in code:
        assert cell.source.strip()
        assert not [o for o in cell.outputs if o.get("name") == "stderr" or o.output_type == "error"], cell.source
        assert not re.search(r"asyncio\.run|nest_asyncio", cell.source)
    outputs = "\n".join(str(c.outputs) for c in code)
    for trace in (str(ROOT), str(Path.home()), "Traceback", " at 0x", sys.prefix):
        assert trace not in outputs
    assert len(book.cells) <= 60


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_a_lesson_has_its_parts_in_order(path: Path) -> None:
    book = nbformat.read(path, as_version=4)
    headings = re.findall(
        r"^## (.+)$", "\n".join(c.source for c in book.cells if c.cell_type == "markdown"), re.MULTILINE
    )
    places = []
    for wanted in ("Break it", "Why", "Fix it", "Prove it", "On the wire", "Check yourself", "Take-away", "Sources"):
        found = [i for i, heading in enumerate(headings) if heading.startswith(wanted)]
        assert found, f"no heading begins with {wanted!r}"
        places.append(found[0])
    assert places == sorted(places)
    text = "\n".join(c.source for c in book.cells)
    assert text.count("<details><summary>") == 3, "three questions with folded answers"
    assert "**Predict:**" in text and "**You will be able to**" in text and "Builds on" in text
    assert "**What changed between revisions**" in text


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_every_code_cell_of_a_lesson_ends_in_something_to_look_at(path: Path) -> None:
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            assert cell.outputs, f"shows nothing:\n{cell.source}"


@pytest.mark.parametrize("path", [*LESSONS, *(e.notebook for e in EXERCISES)], ids=lambda p: p.stem)
def test_images_have_text_and_pictures_a_table(path: Path) -> None:
    book = nbformat.read(path, as_version=4)
    markdown = "\n".join(c.source for c in book.cells if c.cell_type == "markdown")
    assert not re.search(r"!\[\]\(|<img (?![^>]*alt=)", markdown)
    for i, cell in enumerate(book.cells):
        if cell.cell_type == "markdown" and "```mermaid" in cell.source:
            assert "In words:" in cell.source
        if any("image/png" in o.get("data", {}) for o in cell.get("outputs", [])):
            assert "in words" in book.cells[i + 1].source.lower(), "a plot is followed by what it shows, in words"
