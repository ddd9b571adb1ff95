"""For every exercise: red as shipped, green when solved, and each kept answer as wrong or right as it claims to be."""

from __future__ import annotations

import asyncio
from collections import Counter

import nbformat
import pytest
from nbgrader.preprocessors import ClearSolutions
from traitlets.config import Config

from solutions.build import derived
from tests.answers import EXERCISES, PARTS, ROOT, Answer, answers, run, solution_source
from toolworthy import CheckResult, check
from toolworthy.exercise import Exercise, Part
from toolworthy.notebook import STUB, derive, read, source

WRONG, RIGHT = answers("wrong_answers"), answers("right_answers")


def checked(code: str, part: Part, seed: int | None = None) -> CheckResult:
    async def go() -> CheckResult:
        return await check(part.id, await run(code), seed=seed)

    return asyncio.run(go())


def name(value: object) -> str | None:
    if isinstance(value, Answer):
        return f"{value.path.parent.name}-{value.path.stem}"
    return value.id if isinstance(value, Part | Exercise) else None


@pytest.mark.parametrize(("exercise", "part"), PARTS, ids=name)
def test_solved_every_part_is_green_with_any_data(exercise: Exercise, part: Part) -> None:
    code = solution_source(exercise)
    for seed in range(5):
        result = checked(code, part, seed)
        assert result.verdict == "green", result


@pytest.mark.parametrize(("exercise", "part"), PARTS, ids=name)
def test_as_shipped_every_part_is_red(exercise: Exercise, part: Part) -> None:
    result = checked(solution_source(exercise, "exercises"), part)
    assert result.verdict == "red", result
    assert result.message and result.expected and result.seen


@pytest.mark.parametrize("answer", WRONG, ids=name)
def test_a_wrong_answer_is_red_for_the_reason_it_names(answer: Answer) -> None:
    part_id, words = answer.headline()
    part = next(p for p in answer.exercise.parts if p.id == part_id)
    for seed in range(2):
        result = checked(answer.full_source(), part, seed)
        assert result.verdict == "red", f"{answer.path.name} was accepted"
        assert words in repr(result)


@pytest.mark.parametrize("answer", RIGHT, ids=name)
def test_a_right_answer_in_another_style_is_green_in_every_part(answer: Answer) -> None:
    for part in answer.exercise.parts:
        for seed in range(3):
            result = checked(answer.full_source(), part, seed)
            assert result.verdict == "green", result


@pytest.mark.parametrize("exercise", EXERCISES, ids=name)
def test_every_part_has_five_wrong_answers_and_three_right_ones(exercise: Exercise) -> None:
    wrong = Counter(a.headline()[0] for a in WRONG if a.exercise is exercise)
    assert {p.id: wrong[p.id] for p in exercise.parts if wrong[p.id] < 5} == {}
    assert len([a for a in RIGHT if a.exercise is exercise]) >= 3


@pytest.mark.parametrize("exercise", EXERCISES, ids=name)
def test_the_points_are_ten_and_every_part_has_hints(exercise: Exercise) -> None:
    assert exercise.points == 10
    assert 4 <= len(exercise.parts) <= 6
    assert all(len(p.hints) >= 2 for p in exercise.parts)


@pytest.mark.parametrize("exercise", EXERCISES, ids=name)
def test_the_exercise_is_what_its_solution_derives_to(exercise: Exercise) -> None:
    solution = ROOT / "solutions" / exercise.notebook.name
    assert read(exercise.notebook) == derived(solution), "run: python -m solutions.build derive"
    assert "SOLUTION" not in exercise.notebook.read_text(encoding="utf-8")


@pytest.mark.parametrize("exercise", EXERCISES, ids=name)
def test_our_derivation_is_nbgraders(exercise: Exercise) -> None:
    path = ROOT / "solutions" / exercise.notebook.name
    config = Config()
    config.ClearSolutions.code_stub = {"python": STUB}
    config.ClearSolutions.enforce_metadata = False
    theirs, _ = ClearSolutions(config=config).preprocess(nbformat.read(path, as_version=4), {})
    ours = derive(read(path))
    assert [c.source for c in theirs.cells] == [source(c) for c in ours["cells"]]
