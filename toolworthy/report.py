"""Findings, and the report that shows them: HTML in a notebook, text in a terminal, JSON and a data frame."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from toolworthy import render
from toolworthy.rules import POINTS

if TYPE_CHECKING:
    import pandas

Verdict = Literal["violation", "advisory", "pass", "not disproved", "untested", "suspect"]
_KINDS = {"violation": "bad", "suspect": "note", "advisory": "note", "pass": "good", "not disproved": "good"}


@dataclass(frozen=True)
class Finding:
    """What one rule saw. `tool` is "" for something about the whole server."""

    rule: str
    point: int
    verdict: Verdict
    tool: str
    saw: str
    advice: str
    lesson: str


@dataclass(frozen=True)
class Report:
    """All findings about one target, grouped by the ten points of the checklist."""

    target: str
    revision: str
    tools: int
    bytes: int
    findings: tuple[Finding, ...]

    def of(self, *verdicts: Verdict) -> list[Finding]:
        """The findings with one of these verdicts."""
        return [f for f in self.findings if f.verdict in verdicts]

    @property
    def clean(self) -> bool:
        """No violation."""
        return not self.of("violation")

    def _summary(self) -> str:
        # Bytes, not tokens: how many tokens that is depends on the model; a quarter is a usual rule of thumb.
        return (
            f"{_count(len(self.of('violation')), 'violation')} in {_count(self.tools, 'tool')} of {self.target} "
            f"({self.bytes:,} bytes of definitions, about {round(self.bytes / 4):,} tokens)"
        )

    def _state(self, point: int) -> tuple[str, list[Finding]]:
        here = [f for f in self.findings if f.point == point]
        shown = [f for f in here if f.verdict in ("violation", "suspect", "advisory")]
        if violations := [f for f in here if f.verdict == "violation"]:
            return _count(len(violations), "violation"), shown
        if not any(f.verdict == "pass" for f in here):
            return "untested: needs calling the tools", shown
        return "pass", shown

    def __repr__(self) -> str:
        lines = [self._summary()]
        for point, name in POINTS.items():
            state, shown = self._state(point)
            lines.append(f"{point:>2} {name}: {state}")
            lines += [f"     {f.verdict} {f.rule} {f.tool or 'server'}: {f.saw}" for f in shown]
        return render.visible("\n".join(lines))

    def _repr_html_(self) -> str:
        blocks = []
        for point, name in POINTS.items():
            state, shown = self._state(point)
            kind = "bad" if "violation" in state else "good" if state == "pass" else "plain"
            rows: list[list[object]] = [
                [f.verdict, f.tool or "the server", f.saw, f.advice, f"lesson {f.lesson}"] for f in shown
            ]
            body = render.table(["verdict", "tool", "what is wrong", "what to do", "taught in"], rows) if rows else ""
            blocks.append(render.box(kind, f"{point} {name}: {state}", body))
        return f"<p>{render.escape(self._summary())}</p>" + "".join(blocks)

    def to_frame(self) -> pandas.DataFrame:
        """One row a finding: rule, point, verdict, tool, saw, advice, lesson."""
        import pandas

        return pandas.DataFrame([asdict(f) for f in self.findings], columns=list(Finding.__dataclass_fields__))

    def to_json(self) -> str:
        """The report as JSON: target, revision, tools, bytes, findings."""
        body: dict[str, Any] = asdict(self)
        return json.dumps(body, indent=2, ensure_ascii=False)


def _count(number: int, thing: str) -> str:
    return f"{number or 'no'} {thing}{'' if number == 1 else 's'}"


def report(target: str, revision: str, tools: int, size: int, findings: Iterable[Finding]) -> Report:
    """A Report with its findings in the order of the checklist."""
    order = sorted(findings, key=lambda f: (f.point, f.tool, f.rule))
    return Report(target, revision, tools, size, tuple(order))
