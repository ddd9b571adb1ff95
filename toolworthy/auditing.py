"""`audit`: every rule over every tool of a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mcp_types import Tool

from toolworthy.isolate import Exited, Hung, isolated
from toolworthy.report import Finding, Report, report
from toolworthy.rules import RULES, Rule
from toolworthy.rules.size import size
from toolworthy.subject import Era, TargetError, connect, describe

LIMIT = 22.0  # seconds for one audit


def findings(tools: Sequence[Tool], rules: Iterable[Rule] = tuple(RULES.values())) -> Iterator[Finding]:
    """What each rule says of each tool, passes included."""
    for rule in rules:
        if rule.look_at_all is not None:
            yield from _about(rule, "", list(rule.look_at_all(tools)))
        if rule.look is not None:
            for tool in tools:
                yield from _about(rule, tool.name, list(rule.look(tool, tools)))


def _about(rule: Rule, tool: str, sentences: list[str]) -> Iterator[Finding]:
    for sentence in sentences:
        verdict = "advisory" if rule.advisory else "violation"
        yield Finding(rule.id, rule.point, verdict, tool, sentence, rule.advice, rule.lesson)  # type: ignore[arg-type]
    if not sentences:
        yield Finding(rule.id, rule.point, "pass", tool, "", rule.advice, rule.lesson)


async def audit(target: object, *, era: Era = "auto") -> Report:
    """Look at a server's `tools/list` with every rule: `await audit(mcp)`. No tool is called.

    Raises TargetError, in one sentence, when the target is no server that answers.
    """

    async def look() -> Report:
        async with connect(target, era=era) as subject:
            tools = subject.tools
            return report(subject.label, subject.revision, len(tools), size(tools), findings(tools))

    try:
        return await isolated(look, LIMIT)
    except (Hung, Exited):
        raise TargetError(f"The {describe(target)} hung or ended the program while its tools were listed.") from None
