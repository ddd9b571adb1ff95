"""What a learner does: open a notebook, run it, see red, answer, see green, start again.

Screenshots go to the folder in TOOLWORTHY_SCREENSHOTS, if that is set, for somebody to look at.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.answers import ROOT
from tests.browser.conftest import Lab
from toolworthy.notebook import read, source

LESSONS = [f"notebooks/{path.name}" for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]
EXERCISE = "exercises/ex02_rescue_a_toolbox.ipynb"
SOLUTION = ROOT / "solutions" / "ex02_rescue_a_toolbox.ipynb"


def picture(page: Page, name: str) -> None:
    if folder := os.environ.get("TOOLWORTHY_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder, f"{name}.png"))


def open_notebook(page: Page, lab: Lab, notebook: str) -> None:
    page.goto(lab.url(notebook))
    expect(page.locator(".jp-NotebookPanel:visible .jp-Cell").first).to_be_visible(timeout=60_000)
    # The kernel is ready when its indicator says Idle.
    expect(
        page.locator(".jp-NotebookPanel:visible .jp-Notebook-ExecutionIndicator[data-status='idle']")
    ).to_be_attached(timeout=60_000)


def menu(page: Page, *path: str) -> None:
    bar = page.locator("#jp-top-panel, .jp-MainMenu").first
    bar.get_by_text(path[0], exact=True).click()
    for entry in path[1:]:
        page.locator(".lm-Menu").get_by_text(entry, exact=True).click()


def run_all(page: Page, lab: Lab, notebook: str) -> list[dict[str, Any]]:
    """Run every cell as a person does, save, and return the cells as saved."""
    menu(page, "Edit", "Clear Outputs of All Cells")  # so that what is saved next is from this run
    menu(page, "Run", "Run All Cells")
    deadline = time.monotonic() + 120
    while True:
        page.keyboard.press("Control+s")
        page.wait_for_timeout(500)
        code = [c for c in lab.saved(notebook) if c["cell_type"] == "code"]
        counts = [c["execution_count"] or 0 for c in code]
        # One after the other without a gap: each of them has run, and in this order.
        if counts == list(range(counts[0], counts[0] + len(code))) and counts[0]:
            return code
        assert time.monotonic() < deadline, f"not all cells ran: {counts}"


def plain(cell: dict[str, Any]) -> list[str]:
    """The texts a cell shows, without what only says how it was stored."""
    shown = []
    for output in cell["outputs"]:
        data = output.get("data", {})
        text = output.get("text") or data.get("text/plain") or output.get("evalue", "")
        shown.append("".join(text).strip())
    return shown


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_opens_and_every_cell_shows_what_is_committed(page: Page, lab: Lab, lesson: str) -> None:
    open_notebook(page, lab, lesson)
    title = source(read(ROOT / lesson)["cells"][0]).splitlines()[0].removeprefix("# ")
    expect(page.get_by_role("heading", name=title)).to_be_visible()
    picture(page, f"{Path(lesson).stem}-opened")
    ran = run_all(page, lab, lesson)
    committed = [c for c in read(ROOT / lesson)["cells"] if c["cell_type"] == "code"]
    for mine, theirs in zip(ran, committed, strict=True):
        assert plain(mine) == plain(theirs), source(mine)
    picture(page, f"{Path(lesson).stem}-ran")


def test_exercise_02_is_red_takes_an_answer_and_is_green(page: Page, lab: Lab) -> None:
    open_notebook(page, lab, EXERCISE)
    checks = [plain(c)[0] for c in run_all(page, lab, EXERCISE) if source(c).startswith("await check")]
    assert len(checks) == 6 and all(text.startswith("RED") for text in checks)
    page.locator(".jp-OutputArea b:visible", has_text="RED").first.scroll_into_view_if_needed()
    picture(page, "exercise-02-red")

    answers = [source(c) for c in read(SOLUTION)["cells"] if source(c).startswith("# answer 02.1")]
    for heading, answer in zip(("# issues and", "# projects and", "# people, and"), answers, strict=True):
        editor = page.locator(".jp-CodeCell", has_text=heading).locator(".cm-content").first
        editor.scroll_into_view_if_needed()
        editor.click()
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(answer)
    checks = [plain(c)[0] for c in run_all(page, lab, EXERCISE) if source(c).startswith("await check")]
    assert [text.split("\n")[0].split()[0] for text in checks] == ["GREEN"] * 6
    page.locator(".jp-OutputArea b:visible", has_text="GREEN").first.scroll_into_view_if_needed()
    picture(page, "exercise-02-green")


def test_reset_brings_the_starter_back_and_keeps_the_answer(page: Page, lab: Lab) -> None:
    # Goes on in the notebook that the test before left solved.
    cell = page.locator(".jp-CodeCell", has_text='progress("02")').locator(".cm-content").first
    cell.scroll_into_view_if_needed()
    cell.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text('reset("02.1")')
    page.keyboard.press("Control+s")
    page.wait_for_timeout(1000)
    page.keyboard.press("Shift+Enter")
    expect(page.get_by_text("Reload Notebook from Disk").first).to_be_visible(timeout=20_000)
    picture(page, "exercise-02-reset")
    menu(page, "File", "Reload Notebook from Disk")
    page.locator(".jp-Dialog .jp-mod-accept").click()
    expect(page.get_by_text("Your old answer, kept by").first).to_be_attached(timeout=20_000)
    cells = lab.saved(EXERCISE)
    assert "# your code here" in next(source(c) for c in cells if source(c).startswith("# answer 02.1"))
    assert sum("def open_issue" in source(c) for c in cells if c["cell_type"] == "markdown") == 1
