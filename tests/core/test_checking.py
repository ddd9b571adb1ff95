"""check, hint, progress: what a learner sees, whatever the server does."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Iterator
from contextvars import copy_context
from pathlib import Path

import pytest
from fastmcp import FastMCP

import toolworthy.checking
from exercises.checks.observing import observed_world
from servers.backends.world import World
from servers.backends.world.asking import here
from servers.weather.naive import mcp as naive
from tests.answers import EXERCISES, run, solution_source
from tests.core.servers import misbehaving
from toolworthy import CheckResult, PartFailed, check, hint, progress
from toolworthy.exercise import Attempt, Exercise, Part, exercises
from toolworthy.isolate import Hung, isolated


def done(part: object, target: object, seed: int | None = None) -> CheckResult:
    async def go() -> CheckResult:
        return await check(part, target, seed=seed)  # type: ignore[arg-type]

    return asyncio.run(go())


@pytest.fixture
def calling(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An exercise 98 whose parts call one tool each, and a limit short enough to wait for."""

    def part(tool: str) -> Part:
        async def call(attempt: Attempt) -> None:
            async with attempt.connect() as subject:
                await subject.call(tool)

        return Part(f"98.{tool}", "Calls a tool", 1, call, ("first", "second"))

    tools = ("loop", "loop_async", "leave", "leave_async", "sleep", "interrupt", "deep")
    exercise = Exercise("98", "Calls", 1, Path("x.ipynb"), tuple(part(t) for t in tools), "the book")
    known = exercises()
    monkeypatch.setitem(known, "98", exercise)
    monkeypatch.setattr(toolworthy.checking, "LIMIT", 1.0)
    yield


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("98.loop", "was stopped"),
        ("98.loop_async", "was stopped"),
        ("98.sleep", "was stopped"),
        ("98.leave", "ended the whole program"),
        ("98.leave_async", "ended the whole program"),
        ("98.interrupt", "ended the whole program"),
    ],
)
@pytest.mark.usefixtures("calling")
def test_a_tool_that_hangs_or_leaves_costs_one_check(part: str, words: str, capfd: pytest.CaptureFixture[str]) -> None:
    result = done(part, misbehaving())
    assert result.verdict == "red"
    assert words in result.message
    assert result.expected and result.seen
    # The next check runs, and sees the world of its own even while the one that hung is still putting things away.
    assert done("02.1", asyncio.run(run(solution_source(EXERCISES[0])))).verdict == "green"
    time.sleep(0.5)
    printed = capfd.readouterr()
    assert "Traceback" not in printed.err and "unhandled exception" not in printed.err, printed.err


@pytest.mark.usefixtures("calling")
def test_a_recursion_without_end_is_an_ordinary_tool_error() -> None:
    assert done("98.deep", misbehaving()).verdict == "green"  # this part only calls


def test_a_loop_that_was_stopped_burns_no_processor() -> None:
    async def forever() -> None:
        while True:
            pass

    async def go() -> None:
        with pytest.raises(Hung):
            await isolated(forever, 0.3)
        for _ in range(100):
            if not any(t.name == "toolworthy-check" for t in threading.enumerate()):
                return
            await asyncio.sleep(0.1)
        raise AssertionError("the thread is still there")

    asyncio.run(go())


@pytest.mark.parametrize("part", ["99.9", "", "2", None, 2.1])
def test_a_part_that_does_not_exist_is_one_sentence(part: object) -> None:
    result = done(part, naive)
    assert result.verdict == "not run"
    assert "02.1" in result.message


@pytest.mark.parametrize("target", [None, 3, "nowhere.py", [], {}, ["no-such-program"]])
def test_a_target_that_is_no_server_is_one_sentence(target: object) -> None:
    result = done("02.1", target)
    assert result.verdict == "not run"
    assert result.message and "\n" not in result.message


def test_a_coroutine_as_target_is_told_about_await(recwarn: pytest.WarningsRecorder) -> None:
    async def make() -> FastMCP:
        return naive

    assert "await" in done("02.1", make()).message
    assert "await" not in done("99.9", make()).message
    assert not [w for w in recwarn if "never awaited" in str(w.message)]


def test_a_server_that_dies_during_the_check_is_red(files: Path) -> None:
    result = done("02.1", files / "dies_in_call.py")
    assert result.verdict == "red"
    assert "Traceback" not in repr(result)


def test_worlds_are_put_away_in_any_order() -> None:
    first, second = observed_world(World()), observed_world(World())
    mine, yours = copy_context(), copy_context()  # each check runs in a context of its own
    mine.run(first.__enter__)
    one = os.environ["TOOLWORTHY_WORLD"]
    yours.run(second.__enter__)
    two = os.environ["TOOLWORTHY_WORLD"]
    assert mine.run(here.get) == one and yours.run(here.get) == two
    mine.run(first.__exit__, None, None, None)  # late, as by a check that hung
    assert os.environ["TOOLWORTHY_WORLD"] == two != one
    yours.run(second.__exit__, None, None, None)
    assert "TOOLWORTHY_WORLD" not in os.environ


def test_checks_started_together_do_not_disturb_each_other() -> None:
    async def go() -> list[str]:
        server = await run(solution_source(EXERCISES[0]))
        return [r.verdict for r in await asyncio.gather(*(check(p.id, server) for p in EXERCISES[0].parts))]

    assert asyncio.run(go()) == ["green"] * 6


@pytest.mark.parametrize("what", ["BaseException", "GeneratorExit"])
@pytest.mark.usefixtures("calling")
def test_what_no_tool_may_raise_is_told_from_a_hang(what: str) -> None:
    server: FastMCP = FastMCP("odd")

    @server.tool
    async def loop() -> None:
        raise {"BaseException": BaseException, "GeneratorExit": GeneratorExit}[what]

    assert "was stopped" not in done("98.loop", server).message


def test_a_forgotten_await_says_so() -> None:
    assert "await check('02.1'" in repr(check("02.1", naive))


def test_red_raises_where_that_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("TOOLWORTHY_ON_FAIL", "raise"), ("NBGRADER_EXECUTION", "autograde")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            with pytest.raises(PartFailed, match=r"02\.1"):
                done("02.1", naive)


def test_a_red_result_in_html_says_red_offers_a_hint_and_shows_the_wire() -> None:
    html = done("02.1", naive)._repr_html_()
    for words in ("RED", "expected", "seen", "hint(", "what crossed the wire", "tools/list"):
        assert words in html


def test_data_are_drawn_anew_and_a_seed_repeats_them() -> None:
    seeds = {done("02.1", naive).seed for _ in range(4)}
    assert len(seeds) == 4
    assert done("02.1", naive, seed=5).seed == 5


def test_progress_survives_and_green_stays_green(own_home: Path) -> None:
    solution = asyncio.run(run(solution_source(EXERCISES[0])))
    assert done("02.1", solution).verdict == "green"
    assert done("02.1", naive).verdict == "red"
    state = json.loads((own_home / "progress.json").read_text(encoding="utf-8"))["parts"]["02.1"]
    assert state == {"green": True, "tries": 2, "hints": 0}
    assert "3 of " in repr(progress()) and "green" in repr(progress("02"))
    assert "green" in progress()._repr_html_()


def test_a_broken_progress_file_is_set_aside_and_not_lost(own_home: Path) -> None:
    (own_home / "progress.json").write_text("{broken", encoding="utf-8")
    assert "not tried" in repr(progress())
    assert (own_home / "progress.unreadable.json").read_text(encoding="utf-8") == "{broken"


def test_a_home_that_cannot_be_written_costs_no_check(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (own_home / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("TOOLWORTHY_HOME", str(own_home / "file" / "below"))
    assert done("02.1", naive).verdict == "red"


def test_hints_come_step_by_step_and_end_at_the_solution() -> None:
    steps = [hint("02.1") for _ in range(4)]
    assert [len(h.steps) for h in steps] == [1, 2, 3, 3]
    assert "solutions/ex02" in steps[-1].after
    assert "There is no part" in repr(hint("99.1"))
