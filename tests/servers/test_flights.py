"""Flights: what is found, what a call leaves behind in log and trace, and that guards hold where they are set up."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastmcp import Client, FastMCP
from fastmcp.client.transports import PythonStdioTransport
from mcp.shared.exceptions import MCPError
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import servers.flights
from servers.backends import audit, storage, telemetry
from servers.backends.world import Down, RateLimited, Slow, TimesOut, World
from tests.servers.calling import Json, call, fail, listed, raw
from tests.servers.running import ERAS, SERVERS, Mode, environment, http_server
from toolworthy import audit as check

SEARCH: Json = {"origin": "HAN", "destination": "NRT", "date": "2026-12-15"}
FILE = SERVERS / "flights.py"


@pytest.fixture(autouse=True)
def sqlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database for the tests that don't ask for both kinds by the fixture `database`."""
    monkeypatch.setenv("TOOLWORTHY_DATABASE", f"sqlite:///{tmp_path / 'flights.db'}")


@pytest.fixture
def mcp(world: World, call_log: Path) -> FastMCP:
    """The server with guards that have seen nothing yet."""
    return importlib.reload(servers.flights).mcp


@pytest.fixture
def call_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the call log is."""
    path = tmp_path / "calls.jsonl"
    monkeypatch.setenv("TOOLWORTHY_CALL_LOG", str(path))
    return path


def read(log: Path) -> list[Json]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


# --- what is found ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ERAS)
def test_flights_come_cheapest_first_with_times_in_their_zones_and_whole_prices(mcp: FastMCP, mode: Mode) -> None:
    flights = call(mcp, "search_flights", SEARCH | {"passengers": 2}, mode)["items"]
    assert len(flights) > 3
    assert [each["price_minor"] for each in flights] == sorted(each["price_minor"] for each in flights)
    for each in flights:
        assert each["departs_at"].startswith("2026-12-15T") and each["departs_at"].endswith("+07:00")
        assert each["arrives_at"].endswith("+09:00")
        assert type(each["price_minor"]) is int and each["price_minor"] % 2 == 0 and each["seats_left"] >= 2
        assert (each["origin"], each["destination"], each["currency"]) == ("HAN", "NRT", "EUR")


def test_the_same_search_finds_the_same(mcp: FastMCP) -> None:
    assert call(mcp, "search_flights", SEARCH) == call(mcp, "search_flights", SEARCH)


def test_pages_joined_are_the_whole_day(mcp: FastMCP) -> None:
    whole = call(mcp, "search_flights", SEARCH | {"limit": 100})["items"]
    asked, pages = SEARCH | {"limit": 3}, []
    while not pages or pages[-1]["next_cursor"]:
        pages.append(call(mcp, "search_flights", asked | ({"cursor": pages[-1]["next_cursor"]} if pages else {})))
    assert [each for page in pages for each in page["items"]] == whole and len(pages) > 1
    assert {len(page["items"]) for page in pages[:-1]} == {3}


def test_a_cursor_is_for_one_search_and_a_wrong_one_asks_nothing(mcp: FastMCP, world: World) -> None:
    cursor = call(mcp, "search_flights", SEARCH | {"limit": 3})["next_cursor"]
    failure = fail(mcp, "search_flights", SEARCH | {"limit": 3, "cursor": cursor, "cabin": "first"})
    assert failure["errorCategory"] == "validation" and "first page" in failure["message"]
    assert len(world.ledger) == 1


def test_a_price_limit_is_for_all_passengers_in_the_currency_asked_for(mcp: FastMCP) -> None:
    dear = call(mcp, "search_flights", SEARCH | {"passengers": 2, "currency": "JPY"})["items"]
    limit = dear[1]["price_minor"]
    cheap = call(mcp, "search_flights", SEARCH | {"passengers": 2, "currency": "JPY", "max_price_minor": limit})
    assert cheap["items"] == dear[:2]


def test_no_flights_is_an_answer(mcp: FastMCP) -> None:
    page = call(mcp, "search_flights", SEARCH | {"max_price_minor": 1})
    assert page["items"] == [] and page["next_cursor"] is None and page["note"].startswith("There are no flights")


@pytest.mark.parametrize(
    ("change", "word", "suggestion"),
    [
        ({"origin": "HAX"}, "origin", "HAN"),
        ({"destination": "JKF"}, "destination", "JFK"),
        ({"destination": "HAN"}, "destination", None),
        ({"date": "2026-11-29"}, "2026-11-30", "2026-11-30"),
        ({"date": "2031-01-01"}, "2027-10-26", "2026-11-30"),
    ],
)
def test_what_the_search_service_does_not_have_is_said(mcp: FastMCP, change: Json, word: str, suggestion: Any) -> None:
    failure = fail(mcp, "search_flights", SEARCH | change)
    assert failure["errorCategory"] == "validation" and word in failure["message"]
    assert suggestion in failure.get("suggestions", [None])


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"origin": "han"}, "origin"), ({"origin": "HANOI"}, "origin"), ({"origin": "HAN\n"}, "origin"),
        ({"destination": None}, "destination"), ({"date": "15/12/2026"}, "date"), ({"date": "2026-02-30"}, "date"),
        ({"passengers": 0}, "passengers"), ({"passengers": 10}, "passengers"), ({"passengers": "2"}, "passengers"),
        ({"passengers": 1.5}, "passengers"), ({"cabin": "Economy"}, "cabin"), ({"currency": "eur"}, "currency"),
        ({"max_price_minor": 0}, "max_price_minor"), ({"max_price_minor": 10**11}, "max_price_minor"),
        ({"limit": 0}, "limit"), ({"cursor": ""}, "cursor"), ({"return_date": "2026-12-20"}, "return_date"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named_and_nothing_is_asked(mcp: FastMCP, world: World, change: Json, field: str) -> None:
    failure = fail(mcp, "search_flights", SEARCH | change)
    assert failure["errorCategory"] == "validation" and [each["field"] for each in failure["problems"]] == [field]
    assert world.ledger == ()


@pytest.mark.parametrize("fault", [Down(), RateLimited(9), TimesOut(), TimesOut(after_effect=True), Slow(60)])
def test_a_failure_outside_is_said_and_the_same_call_works_later(
    mcp: FastMCP, world: World, monkeypatch: pytest.MonkeyPatch, fault: Any
) -> None:
    monkeypatch.setenv("TOOLWORTHY_TIME_LIMIT", "0.1")
    world.schedule("flights.search", fault)
    failure = fail(mcp, "search_flights", SEARCH)
    assert failure["errorCategory"] == "transient" and "unchanged" in failure["message"]
    if isinstance(fault, RateLimited):
        assert failure["retryAfterSeconds"] == 9
    else:
        call(mcp, "search_flights", SEARCH)


def test_reading_is_all_it_does(mcp: FastMCP, world: World) -> None:
    (tool,) = listed(mcp)
    hints = tool.annotations
    assert (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint) == (
        True, False, True, True,
    )  # fmt: skip
    first = call(mcp, "search_flights", SEARCH)
    tables = {name: _rows(name) for name in storage.metadata.tables}
    assert call(mcp, "search_flights", SEARCH) == first
    changed = {name for name, before in tables.items() if _rows(name) != before}
    assert changed == {"audit_log", "daily_usage"}  # what is counted and logged; nothing else
    assert not any(entry.effect for entry in world.ledger)


def _rows(table: str) -> list[str]:
    with storage.reading() as connection:
        return sorted(map(str, connection.execute(sa.select(storage.metadata.tables[table]))))


def test_the_checklist_finds_nothing(mcp: FastMCP) -> None:
    report = asyncio.run(check(mcp))
    assert str(report).startswith("no violations")


# --- the call log ----------------------------------------------------------------------------------------------------


def test_every_call_leaves_one_line_of_json_and_no_secret(
    database: str, mcp: FastMCP, world: World, call_log: Path
) -> None:
    world.schedule("flights.search", Down())
    fail(mcp, "search_flights", SEARCH)
    call(mcp, "search_flights", SEARCH)
    fail(mcp, "search_flights", SEARCH | {"api_key": "hunter2-hunter2"})
    fail(mcp, "search_flights", SEARCH | {"origin": "Bearer abcdef0123456789\nX"})
    for _ in range(5):
        raw(mcp, "search_flights", SEARCH)
    with pytest.raises(MCPError):
        raw(mcp, "book_flight", {})
    lines = read(call_log)
    assert [(line["outcome"], line["error_category"]) for line in lines] == [
        ("failed", "transient"), ("done", None), ("refused", "validation"), ("refused", "validation"),
        *[("done", None)] * 4, ("refused", "business"), ("refused", None),
    ]  # fmt: skip
    assert lines[1]["summary"]["items"].endswith(" entries") and lines[1]["arguments"] == SEARCH
    assert all(line["duration_ms"] > 0 and line["caller"] == "local" for line in lines)
    assert "hunter2" not in call_log.read_text() and "abcdef0123456789" not in call_log.read_text()
    stored = [(line["trace_id"], line["outcome"]) for line in audit.lines()]
    assert [(line["trace_id"], line["outcome"]) for line in lines] == [each for each in stored if each[1] != "begun"]


def test_a_log_that_can_not_be_written_costs_no_answer(
    mcp: FastMCP, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TOOLWORTHY_CALL_LOG", str(tmp_path))
    call(mcp, "search_flights", SEARCH)
    assert "could not be written" in caplog.text
    assert [line["outcome"] for line in audit.lines()] == ["done"]


def test_costs_are_results_times_their_price(mcp: FastMCP) -> None:
    call(mcp, "search_flights", SEARCH)
    call(mcp, "search_flights", SEARCH | {"date": "2026-12-16"})
    fail(mcp, "search_flights", {})
    lines = audit.lines()
    (row,) = telemetry.costs(lines, {"search_flights": 3})
    assert row.pop("ms") == pytest.approx(sum(line["duration_ms"] for line in lines))
    assert row == {"caller": "local", "tool": "search_flights", "calls": 3, "results": 2, "units": 6}
    other = {"caller": "ana", "tool": "x", "outcome": "begun", "duration_ms": None}
    assert telemetry.costs([*lines, other], {}) == [row | {"units": 0, "ms": sum(e["duration_ms"] for e in lines)}]


# --- traces ----------------------------------------------------------------------------------------------------------


def server_and_upstream(exporter: InMemorySpanExporter) -> tuple[ReadableSpan, list[ReadableSpan]]:
    """The one server span of a tool call, and what is below it."""
    ended = exporter.get_finished_spans()
    (server,) = [
        each
        for each in ended
        if each.kind is SpanKind.SERVER and (each.attributes or {}).get("mcp.method.name") == "tools/call"
    ]
    below = [each for each in ended if each.parent and each.parent.span_id == server.context.span_id]
    assert {each.context.trace_id for each in below} <= {server.context.trace_id}
    return server, below


@pytest.mark.parametrize("mode", ERAS)
def test_a_call_is_one_trace_from_the_server_to_the_upstream(
    mcp: FastMCP, spans: InMemorySpanExporter, call_log: Path, mode: Mode
) -> None:
    call(mcp, "search_flights", SEARCH, mode)
    server, (upstream,) = server_and_upstream(spans)
    assert server.name == "tools/call search_flights" and server.status.status_code is StatusCode.UNSET
    values = dict(server.attributes or {})
    expected = {
        "mcp.protocol.version": ERAS[mode], "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search_flights", "toolworthy.caller": "local", "toolworthy.outcome": "done",
        "toolworthy.breaker.state": "closed", "toolworthy.quota.left": 499, "toolworthy.cost.units": 1,
    }  # fmt: skip
    assert expected.items() <= values.items() and "error.type" not in values
    assert (upstream.name, upstream.kind) == ("flights.search", SpanKind.CLIENT)
    assert dict(upstream.attributes or {}) == {"service.peer.name": "the flight search"}
    (line,), (stored,) = read(call_log), audit.lines()
    assert line["trace_id"] == stored["trace_id"] == f"{server.context.trace_id:032x}"


def test_a_failure_outside_is_an_error_in_both_spans(mcp: FastMCP, spans: InMemorySpanExporter, world: World) -> None:
    world.schedule("flights.search", Down())
    fail(mcp, "search_flights", SEARCH)
    server, (upstream,) = server_and_upstream(spans)
    assert server.status.status_code is upstream.status.status_code is StatusCode.ERROR
    assert server.attributes["error.type"] == "tool_error"
    assert server.attributes["toolworthy.error.category"] == "transient"
    assert upstream.attributes["error.type"] == "UpstreamDown"
    assert "toolworthy.cost.units" not in server.attributes


def test_an_open_breaker_is_in_the_trace_and_nothing_below_it(
    mcp: FastMCP, spans: InMemorySpanExporter, world: World
) -> None:
    world.schedule("flights.search", RateLimited(30))
    fail(mcp, "search_flights", SEARCH)
    spans.clear()
    fail(mcp, "search_flights", SEARCH)
    server, below = server_and_upstream(spans)
    assert below == [] and server.attributes["toolworthy.breaker.state"] == "open"


@pytest.mark.parametrize("refused", ["loop", "schema"])
def test_what_is_refused_before_the_tool_runs_is_a_named_span_with_an_error(
    mcp: FastMCP, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    monkeypatch.setenv("TOOLWORTHY_LOOP_CAP", "1")
    call(mcp, "search_flights", SEARCH)
    spans.clear()
    fail(mcp, "search_flights", SEARCH | ({} if refused == "loop" else {"password": "hunter2-hunter2"}))
    server, below = server_and_upstream(spans)
    assert below == [] and server.name == "tools/call search_flights"
    assert server.status.status_code is StatusCode.ERROR and server.attributes["error.type"] == "tool_error"
    assert server.attributes["toolworthy.error.category"] == ("business" if refused == "loop" else "validation")
    assert "hunter2" not in server.to_json()


def test_the_caller_s_trace_goes_on_here(mcp: FastMCP, spans: InMemorySpanExporter, call_log: Path) -> None:
    with trace.get_tracer("agent").start_as_current_span("plan a journey") as mine:
        call(mcp, "search_flights", SEARCH)
    server, _ = server_and_upstream(spans)
    assert server.context.trace_id == mine.get_span_context().trace_id
    assert read(call_log)[0]["trace_id"] == f"{server.context.trace_id:032x}"


# --- as a process ----------------------------------------------------------------------------------------------------


def test_over_stdio_the_log_goes_to_stderr_and_has_the_caller_s_trace_id(served_world: World) -> None:
    def message(method: str, params: Json, **number: int) -> str:
        return json.dumps({"jsonrpc": "2.0", **number, "method": method, "params": params}) + "\n"

    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    start = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    meta = {"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01"}
    with subprocess.Popen(
        [sys.executable, str(FILE)], env=around(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    ) as server:  # fmt: skip
        assert server.stdin and server.stdout
        server.stdin.write(message("initialize", start, id=1) + message("notifications/initialized", {}))
        server.stdin.write(message("tools/call", {"name": "search_flights", "arguments": SEARCH, "_meta": meta}, id=2))
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        rest, said = server.communicate(timeout=20)
    assert [answer["id"] for answer in answers] == [1, 2] and not answers[1]["result"]["isError"] and rest == ""
    line = json.loads(said)
    assert (line["tool"], line["outcome"], line["trace_id"]) == ("search_flights", "done", trace_id)
    assert len(served_world.ledger) == 1


def around(**more: str) -> dict[str, str]:
    """The environment of a server process that has this test's database and world."""
    return environment(**{name: os.environ[name] for name in ("TOOLWORTHY_DATABASE", "TOOLWORTHY_WORLD")}, **more)


def test_a_quota_holds_over_restarts_and_for_two_processes_at_once(served_world: World) -> None:
    def server() -> PythonStdioTransport:
        env = around(TOOLWORTHY_QUOTA="7", TOOLWORTHY_CALL_LOG=os.devnull)
        return PythonStdioTransport(FILE, env=env, keep_alive=False)

    async def ten(first: int) -> list[bool]:
        async with Client(server()) as client:
            asked = [SEARCH | {"date": f"2026-12-{day}"} for day in range(first, first + 10)]
            results = await asyncio.gather(*(client.call_tool_mcp("search_flights", each) for each in asked))
            return [each.is_error for each in results]

    async def run() -> list[list[bool]]:
        return await asyncio.gather(ten(10), ten(20))

    refused = asyncio.run(run())
    assert sum(map(sum, refused)) == 13 and len(served_world.ledger) == 7
    assert "quota of 7" in fail(server(), "search_flights", SEARCH)["message"]
    assert len(served_world.ledger) == 7


def test_over_http_in_both_eras_with_nothing_to_say(served_world: World, call_log: Path) -> None:
    env = {name: os.environ[name] for name in ("TOOLWORTHY_DATABASE", "TOOLWORTHY_WORLD", "TOOLWORTHY_CALL_LOG")}
    with http_server(FILE, **env, TOOLWORTHY_RATE="12") as port:
        url = f"http://127.0.0.1:{port}/mcp"
        for mode in ERAS:
            call(url, "search_flights", SEARCH, mode)
        assert fail(url, "search_flights", SEARCH)["retryAfterSeconds"] == 5
        served_world.clock.advance(5)
        call(url, "search_flights", SEARCH)
    assert [line["outcome"] for line in read(call_log)] == ["done", "done", "failed", "done"]


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("TOOLWORTHY_RATE", "many", "TOOLWORTHY_RATE must be a whole number"),
        ("TOOLWORTHY_CALL_LOG", "/", "TOOLWORTHY_CALL_LOG: can't write to '/'"),
    ],
)
def test_what_it_can_not_use_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str, sentence: str
) -> None:
    monkeypatch.setenv(name, value)
    code, out, err = start(monkeypatch, capsys)
    assert (code, out) == (2, "") and err.startswith(sentence) and err.count("\n") == 1


def test_help_says_what_it_needs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = start(monkeypatch, capsys, "--help")
    assert (code, err) == (0, "")
    for word in ("TOOLWORTHY_DATABASE", "TOOLWORTHY_CALL_LOG", "TOOLWORTHY_RATE", "TOOLWORTHY_QUOTA"):
        assert word in out


def start(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[object, str, str]:
    """Run the file in this process: how it ends, and what it says."""
    monkeypatch.setattr(sys, "argv", [str(FILE), *options])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(FILE), run_name="__main__")
    return ended.value.code, *capsys.readouterr()


def test_fastmcp_calls_the_file(served_world: World) -> None:
    done = subprocess.run(
        ["fastmcp", "call", str(FILE), "search_flights", "--input-json", json.dumps(SEARCH), "--json"],
        env=around(NO_COLOR="1", TOOLWORTHY_CALL_LOG=os.devnull),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["structured_content"]["items"]
