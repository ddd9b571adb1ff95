"""Answer cells are found however a notebook was edited; a starter comes back and no answer is lost."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.answers import EXERCISES
from toolworthy import reset
from toolworthy.notebook import NotebookError, _reset_file, answer_cells, clear_solutions, read, source

EXERCISE = EXERCISES[0]


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return Path(shutil.copy(EXERCISE.notebook, tmp_path / "my answers.ipynb"))


def edit(path: Path, change: Any) -> None:
    notebook = read(path)
    change(notebook["cells"])
    path.write_text(json.dumps(notebook), encoding="utf-8")


def test_answers_are_found_by_line_by_tag_and_by_id(book: Path) -> None:
    assert len(answer_cells(read(book), "02.1")) == 3

    def lose_lines(cells: list[dict[str, Any]]) -> None:
        for cell in cells:
            cell["source"] = source(cell).replace("# answer 02.1\n", "")

    edit(book, lose_lines)
    assert len(answer_cells(read(book), "02.1")) == 3
    edit(book, lambda cells: [c.update(id=f"x{i}") for i, c in enumerate(cells)])
    assert len(answer_cells(read(book), "02.1")) == 3  # by tag
    edit(
        book,
        lambda cells: [c.update(metadata={}, id=f"answer-02-1-{i}" if i == 5 else "y") for i, c in enumerate(cells)],
    )
    assert len(answer_cells(read(book), "02.1")) <= 1  # by id, where that cell is code


def test_a_cell_that_says_another_part_is_not_found_by_its_tag(book: Path) -> None:
    edit(book, lambda cells: [c.update(source=source(c).replace("answer 02.1", "answer 02.9")) for c in cells])
    assert answer_cells(read(book), "02.1") == []
    assert len(answer_cells(read(book), "02.9")) == 3


def test_copied_split_and_moved_cells_are_all_found_in_order(book: Path) -> None:
    def change(cells: list[dict[str, Any]]) -> None:
        new = {
            "cell_type": "code",
            "source": ["# Answer 02.1\n", "extra = 1"],
            "metadata": {},
            "outputs": [],
            "id": "z",
        }
        cells.insert(0, new)

    edit(book, change)
    found = answer_cells(read(book), "02.1")
    assert len(found) == 4 and "extra" in source(found[0])


def test_reset_puts_the_starter_back_and_keeps_the_old_answer_beside_it(book: Path) -> None:
    starters = [source(c) for c in answer_cells(read(book), "02.1")]

    def answer(cells: list[dict[str, Any]]) -> None:
        for i, cell in enumerate(c for c in cells if source(c).startswith("# answer 02.1")):
            cell["source"] = f"# answer 02.1\nmine = {i}"

    edit(book, answer)
    done = reset("02.1", book)
    assert done.ok and "old answer" in done.message
    assert [source(c) for c in answer_cells(read(book), "02.1")] == starters
    kept = [source(c) for c in read(book)["cells"] if "old-answer" in c["metadata"].get("tags", [])]
    assert len(kept) == 3 and all(f"mine = {i}" in text for i, text in enumerate(kept))
    nbformat.validate(nbformat.read(book, as_version=4))
    # A second time there is nothing to do, and a second answer is kept beside the first.
    assert "starter already" in reset("02.1", book).message
    edit(book, answer)
    assert reset("02.1", book).ok
    nbformat.validate(nbformat.read(book, as_version=4))
    assert len([c for c in read(book)["cells"] if "old-answer" in c["metadata"].get("tags", [])]) == 6


def test_reset_keeps_what_was_run_and_never_saved(book: Path) -> None:
    saved = "# answer 02.1\nsaved = 1"
    edit(book, lambda cells: answer_cells({"cells": cells}, "02.1")[0].update(source=saved))
    starter = source(answer_cells(read(book), "02.1")[1])
    executed = [starter, saved, *(f"# answer 02.1\nrun = {i}" for i in (1, 2, 2, 3))]
    assert _reset_file("02.1", book, executed).ok
    kept = "".join(source(c) for c in read(book)["cells"] if "old-answer" in c["metadata"].get("tags", []))
    assert all(kept.count(text) == 1 for text in ("saved = 1", "run = 1", "run = 2", "run = 3"))
    nbformat.validate(nbformat.read(book, as_version=4))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": 3}', "\x00"])
def test_a_file_that_is_no_notebook_is_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.ipynb"
    path.write_text(text, encoding="utf-8")
    done = reset("02.1", path)
    assert not done.ok and done.message.startswith("x.ipynb") and "\n" not in done.message
    assert path.read_text(encoding="utf-8") == text


def test_other_bad_input_is_one_sentence(tmp_path: Path, book: Path) -> None:
    assert "can't be read" in reset("02.1", tmp_path / "missing.ipynb").message
    assert "There is no part" in reset("77.7", book).message
    edit(book, lambda cells: cells.clear())
    assert "no cell that begins" in reset("02.1", book).message


def test_without_its_starters_a_notebook_is_left_alone(book: Path) -> None:
    def lose(cells: list[dict[str, Any]]) -> None:
        for cell in cells:
            cell["metadata"].pop("toolworthy", None)

    edit(book, lose)
    before = book.read_text(encoding="utf-8")
    done = reset("02.1", book)
    assert not done.ok and "git checkout" in done.message
    assert book.read_text(encoding="utf-8") == before


def test_clearing_solutions() -> None:
    text = "a = 1\nif a:\n    ### BEGIN SOLUTION\n    b = 2\n    ### END SOLUTION\nc = 3"
    assert clear_solutions(text) == "a = 1\nif a:\n    # your code here\nc = 3"
    for broken in ("### BEGIN SOLUTION\n1", "### BEGIN SOLUTION\n### BEGIN SOLUTION\n### END SOLUTION"):
        with pytest.raises(NotebookError):
            clear_solutions(broken)
