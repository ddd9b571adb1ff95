"""Rules and report: each rule fires on what it is for and not on its neighbour."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from mcp_types import Tool, ToolAnnotations

from servers.weather.described import mcp as described
from servers.weather.naive import mcp as naive
from toolworthy import audit
from toolworthy.auditing import findings
from toolworthy.rules import POINTS, RULES

GOOD_TEXT = "List the open orders of a customer. Use it when someone asks for them. Not for closed ones: use list_closed_orders."
GOOD_HINTS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


def tool(
    name: str = "list_open_orders",
    description: str | None = GOOD_TEXT,
    output: Any = None,
    hints: Any = GOOD_HINTS,
    **parameters: Any,
) -> Tool:
    properties = {k: {"description": "What it means."} | v for k, v in parameters.items()}
    return Tool(
        name=name,
        description=description,
        input_schema={"type": "object", "properties": properties, "additionalProperties": False},
        output_schema=output or {"type": "object", "properties": {"orders": {"type": "array"}}},
        annotations=hints,
    )


def named(name: str) -> Tool:
    return tool(name)


OTHER = tool("list_closed_orders", GOOD_TEXT.replace("open", "closed").replace("list_closed", "list_open"))
# rule id → tools that must make it fire, tools that must not
CASES: dict[str, tuple[list[Tool], list[Tool]]] = {
    "name-verb": (
        [named(n) for n in ("issue", "orders", "weather_data", "update", "mr", "file")],
        [named(n) for n in ("get_weather", "createIssue", "upsert_user", "file_report", "issue_refund", "log_in")],
    ),
    "name-vague": ([named("process_order"), named("handle_mail")], [named("ship_order")]),
    "name-one-intent": ([named("update_or_create_user"), named("getAndDelete")], [named("upsert_user"), named("get_order")]),
    "name-no-switch": (
        [tool(action={"type": "string"}), tool(op={"enum": ["read", "write"]}), tool(mode={"enum": ["create", "delete"]})],
        [tool(mode={"enum": ["walk", "bike"], "type": "string"}), tool(city={"type": "string"}), tool(mode={"enum": ["fast"]})],
    ),
    "name-not-universal": ([named("execute_sql"), named("call_api"), named("run_shell_command")], [named("run_report")]),
    "name-no-abbreviation": (
        [named(n) for n in ("get_mr", "list_usr", "get_orders_v2", "create_x")],
        [named(n) for n in ("create_pr", "get_user_by_id", "send_sms", "read_pdf", "list_open_orders")],
    ),
    "name-portable": ([named("get.order"), named("get order"), named("2nd_get"), named("gét")], [named("get-order_2")]),
    "name-short": ([named("get_" + "x" * 40)], [named("get_" + "x" * 36)]),
    "name-one-style": ([named("get_order"), named("getUser")], [named("GetOrder"), named("ListUsers"), named("ping")]),
    "description-present": ([tool(description=None), tool(description="  ")], [tool()]),
    "description-says-more": (
        [tool(description="List open orders."), tool(description="This tool lists it.")],
        [tool(), tool(description=None)],
    ),
    "description-when": ([tool(description="Lists the open orders of a customer with their dates.")], [tool()]),
    "description-when-not": ([tool(description="Lists orders. Use it when someone asks.")], [tool()]),
    "description-parameters": ([tool(city={"description": " "})], [tool(city={})]),
    "description-not-cut": ([tool(description=GOOD_TEXT * 20)], [tool(description=GOOD_TEXT * 10)]),
    "description-comfortable": ([tool(description=GOOD_TEXT * 10)], [tool()]),
    "description-no-twins": ([tool("get_a"), tool("get_b")], [tool(), OTHER]),
    "input-closed": (
        [tool(order={"type": "object", "properties": {"a": {}}}), Tool(name="get_x", input_schema={"type": "object", "properties": {"a": {}}})],
        [tool(order={"type": "object", "properties": {"a": {}}, "additionalProperties": False})],
    ),
    "input-no-free-object": ([tool(data={"type": "object"})], [tool(data={"type": "string"})]),
    "input-typed": ([tool(city={})], [tool(city={"type": "string"}), tool(city={"enum": [1]})]),
    "input-strings": (
        [tool(city={"type": "string"}), tool(city={"anyOf": [{"type": "string"}, {"type": "null"}]})],
        [tool(city={"type": "string", "maxLength": 5}), tool(day={"type": "string", "format": "date"})],
    ),
    "input-numbers": (
        [tool(n={"type": "integer", "minimum": 1}), tool(n={"type": "number"})],
        [tool(n={"type": "integer", "minimum": 1, "exclusiveMaximum": 5}), tool(n={"type": "integer", "enum": [1, 2]})],
    ),
    "input-arrays": ([tool(tags={"type": "array"})], [tool(tags={"type": "array", "maxItems": 3})]),
    "output-declared": ([Tool(name="get_x", input_schema={"type": "object"})], [tool()]),
    "output-has-shape": (
        [tool(output={"type": "object", "properties": {"result": {"type": "string"}}}), tool(output={"type": "object", "additionalProperties": True})],
        [tool()],
    ),
    "hints-explicit": ([tool(hints=None), tool(hints=ToolAnnotations(read_only_hint=True))], [tool()]),
    "hints-consistent": ([tool(hints=ToolAnnotations(read_only_hint=True, destructive_hint=True))], [tool()]),
    "size-tool": ([tool(description=GOOD_TEXT * 40)], [tool()]),
    "size-server": ([tool(f"get_{i:03}", GOOD_TEXT * 3) for i in range(100)], [tool()]),
}  # fmt: skip


def test_every_rule_has_its_cases() -> None:
    assert set(CASES) == set(RULES)
    assert {r.point for r in RULES.values()} == {1, 2, 3, 4, 8}


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda r: r.id)
def test_a_rule_fires_where_it_must_and_only_there(rule: Any) -> None:
    bad, good = CASES[rule.id]
    expected = "advisory" if rule.advisory else "violation"
    if rule.look_at_all:
        assert expected in {f.verdict for f in findings(bad, [rule])}
        assert {f.verdict for f in findings(good, [rule])} == {"pass"}
        return
    for each in bad:
        # A neighbour stands beside, since some rules ask for one.
        verdicts = {f.verdict for f in findings([each, OTHER], [rule]) if f.tool == each.name}
        assert verdicts == {expected}, each
    for each in good:
        assert {f.verdict for f in findings([each, OTHER], [rule]) if f.tool == each.name} == {"pass"}, each


def test_the_report_of_the_naive_server() -> None:
    report = asyncio.run(audit(naive))
    assert [(f.point, f.rule) for f in report.of("violation")] == [
        (2, "description-parameters"),
        (2, "description-present"),
        (3, "input-strings"),
        (4, "output-has-shape"),
        (8, "hints-explicit"),
    ]
    assert not report.clean
    for text in (repr(report), report._repr_html_()):
        assert all(name in text for name in POINTS.values())
        assert "untested: needs calling the tools" in text
        assert "5 violations" in text
    frame = report.to_frame()
    assert list(frame.columns) == ["rule", "point", "verdict", "tool", "saw", "advice", "lesson"]
    assert len(frame) == len(report.findings)
    assert json.loads(report.to_json())["findings"][0]["rule"] in RULES


def test_the_described_stage_has_no_violation_of_points_one_and_two() -> None:
    report = asyncio.run(audit(described))
    assert not [f for f in report.of("violation") if f.point in (1, 2)]


def test_a_report_escapes_what_a_server_says() -> None:
    from fastmcp import FastMCP

    server: FastMCP = FastMCP("<b>bold</b>")
    server.tool(lambda x: x, name="<img src=x>", description="\u202etxt")
    report = asyncio.run(audit(server))
    assert "<img" not in report._repr_html_() and "<b>bold" not in report._repr_html_()
    assert "\u202e" not in repr(report)


def test_nothing_is_called() -> None:
    from fastmcp import FastMCP

    called = []
    server: FastMCP = FastMCP("calm")
    server.tool(lambda: called.append(1), name="delete_all")
    asyncio.run(audit(server))
    assert called == []


def test_a_prefix_that_all_tools_share_is_no_noun_first() -> None:
    prefixed = [tool(f"github_{verb}_issue") for verb in ("create", "close", "handle")]
    found = [f.tool for f in findings(prefixed, [RULES["name-verb"]]) if f.verdict == "violation"]
    assert found == []
    vague = [f.tool for f in findings(prefixed, [RULES["name-vague"]]) if f.verdict == "violation"]
    assert vague == ["github_handle_issue"]
