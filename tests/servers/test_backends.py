"""Storage, audit log and structured failures: what every server rests on, also when the database is away."""

from __future__ import annotations

import asyncio
import socket
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastmcp import Client
from fastmcp.server.middleware import Middleware
from mcp.shared.exceptions import MCPError
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from servers import payments
from servers.backends import audit, storage
from servers.backends.errors import UpstreamDown
from servers.backends.production import production
from servers.backends.serve import _listen
from servers.backends.world import World
from servers.issues import mcp
from tests.servers.calling import call, fail, raw
from tests.servers.conftest import new_database
from tests.servers.running import SERVERS, environment, run_server

NEW = {"repo": "acme/web-shop", "title": "Login fails", "idempotency_key": "report-4711"}
LIST = {"repo": "acme/web-shop"}


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgresql+psycopg://me:hunter2@127.0.0.1:1/none", "can't be used (connection failed"),
        ("sqlite:////proc/none/x.db", "can't be used"),
        ("mysql://me:hunter2@localhost/x", "The driver of that database isn't installed (module MySQLdb)"),
        ("oracle9://me:hunter2@localhost/x", "must be a URL such as"),
        ("nonsense", "must be a URL such as"),
    ],
)
def test_a_database_that_is_not_there_is_one_sentence_without_password(url: str, says: str) -> None:
    done = run_server(SERVERS / "issues.py", TOOLWORTHY_DATABASE=url)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr and done.stderr.count("\n") == 1
    assert "hunter2" not in done.stderr and "Traceback" not in done.stderr


def test_a_database_that_goes_away_is_a_transient_failure(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call(mcp, "create_issue", NEW)
    monkeypatch.setenv("TOOLWORTHY_DATABASE", "postgresql+psycopg://me:hunter2@127.0.0.1:1/none")
    for tool, arguments in (("create_issue", NEW), ("list_issues", LIST)):
        failure = fail(mcp, tool, arguments)
        assert failure["errorCategory"] == "transient" and "database" in failure["message"]
        assert "hunter2" not in str(failure)
    monkeypatch.setenv("TOOLWORTHY_DATABASE", database)
    assert call(mcp, "create_issue", NEW)["created"] is False


def test_a_locked_database_is_waited_for_and_then_said_to_be_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "busy.db"
    monkeypatch.setenv("TOOLWORTHY_DATABASE", f"sqlite:///{file}")
    monkeypatch.setattr(storage, "PATIENCE_SECONDS", 0.3)
    call(mcp, "create_issue", NEW)
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("begin immediate")
    assert fail(mcp, "close_issue", {"issue_id": "ISS-1"})["errorCategory"] == "transient"
    assert call(mcp, "list_issues", LIST)["items"][0]["state"] == "open"  # reading goes on
    threading.Timer(0.1, other.rollback).start()
    assert call(mcp, "close_issue", {"issue_id": "ISS-1"})["state"] == "closed"


def test_a_block_that_raises_writes_nothing(database: str) -> None:
    table = storage.metadata.tables["labels"]
    row = {"repo": "a/b", "name": "x", "color": "#ffffff", "description": ""}
    with pytest.raises(ZeroDivisionError), storage.writing() as connection:
        assert storage.insert_new(connection, table, row) and not storage.insert_new(connection, table, row)
        _ = 1 / 0
    with storage.reading() as connection:
        assert connection.execute(sa.select(table)).all() == []


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_processes_that_start_together_make_the_tables_once(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path / 'new.db'}" if kind == "sqlite" else new_database(request.getfixturevalue("postgres"))
    code = "from servers import issues; from servers.backends import storage; storage.check()"
    started = [
        subprocess.Popen([sys.executable, "-c", code], env=environment(TOOLWORTHY_DATABASE=url), stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    assert [(process.communicate(timeout=60)[1], process.returncode) for process in started] == [(b"", 0)] * 4


# --- the audit log ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement", ["update audit_log set tool = 'x'", "delete from audit_log", "truncate audit_log"]
)
def test_a_line_can_neither_be_changed_nor_deleted(database: str, statement: str) -> None:
    if statement.startswith("truncate") and database.startswith("sqlite"):
        statement = "delete from audit_log where line = 1"
    call(mcp, "list_issues", LIST)
    before = audit.lines()
    with pytest.raises(sa.exc.DBAPIError, match="append-only"), storage.engine().begin() as connection:
        connection.exec_driver_sql(statement)
    assert audit.lines() == before and len(before) == 1


def test_what_may_write_is_not_called_when_the_log_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLWORTHY_DATABASE", f"sqlite:///{tmp_path / 'a.db'}")
    server, ran = production("demo", "A server that notes which tools ran."), []

    @server.tool
    def write_it() -> str:
        ran.append("write_it")
        return "done"

    @server.tool(annotations={"readOnlyHint": True})
    def read_it() -> str:
        ran.append("read_it")
        return "done"

    def refuse(line: audit.Line) -> None:
        raise UpstreamDown("The database can't be reached.")

    monkeypatch.setattr(audit, "append", refuse)
    assert fail(server, "write_it", {})["errorCategory"] == "transient"
    assert not raw(server, "read_it", {}).is_error
    assert ran == ["read_it"]


# --- failures --------------------------------------------------------------------------------------------------------


def test_a_fault_of_the_server_tells_nothing_but_a_trace_id_that_is_in_the_log(database: str, capfd: Any) -> None:
    server = production("demo", "A server with a fault.")

    @server.tool
    def divide() -> float:
        raise RuntimeError("postgres://me:hunter2@db/prod is down at /srv/app.py")

    failure = fail(server, "divide", {})
    assert failure["errorCategory"] == "internal"
    assert failure["traceId"] == audit.lines("divide")[0]["trace_id"]
    assert "hunter2" not in str(failure) and "/srv" not in str(failure)
    assert "hunter2" not in str(audit.lines())


def test_an_unknown_tool_is_the_protocols_own_error_with_the_nearest_name(database: str) -> None:
    async def run() -> None:
        async with Client(mcp) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool_mcp("create_isue", {})
            assert caught.value.error.code == -32602
            assert caught.value.error.message == "Unknown tool: 'create_isue'. Did you mean create_issue?"

    asyncio.run(run())
    assert [line["outcome"] for line in audit.lines("create_isue")] == ["refused"]


def test_a_misspelt_argument_is_told_the_nearest_one(database: str) -> None:
    problems = fail(mcp, "create_issue", {"repo": "a/b", "tilte": "x", "idempotency_key": "report-4711"})["problems"]
    assert {"field": "title", "problem": "is required"} in problems
    assert {"field": "tilte", "problem": "there is no such argument; did you mean title?"} in problems


def test_half_a_character_is_a_wrong_argument_and_no_fault_of_the_server(database: str) -> None:
    failure = fail(mcp, "create_issue", NEW | {"body": "half \ud83d"})
    assert failure["errorCategory"] == "validation" and "surrogate" in failure["message"]
    assert call(mcp, "list_issues", LIST)["items"] == []


@pytest.mark.parametrize("title", ["a\u2028b", "a\u2029b", "a\x85b", "\u2028"])
def test_a_line_has_none_of_the_line_breaks_of_unicode(database: str, title: str) -> None:
    assert fail(mcp, "create_issue", NEW | {"title": title})["problems"][0]["field"] == "title"


def test_a_key_whose_effect_was_refused_claims_no_other_call(world: World, database: str) -> None:
    asked = {"customer_id": "cus_dana", "amount_minor": 5, "currency": "EUR", "idempotency_key": "order-4711"}
    fail(payments.mcp, "charge_payment", asked)
    failure = fail(payments.mcp, "charge_payment", asked | {"amount_minor": 4})
    assert "stands" not in failure["message"] and "Nothing was done now" in failure["message"]
    assert not any(entry.effect for entry in world.ledger)


def test_a_fault_in_a_guard_is_a_failure_in_the_log(database: str) -> None:
    class Faulty(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            raise RuntimeError("hunter2")

    server = production("demo", "A server with a fault in a guard.", Faulty())

    @server.tool(annotations={"readOnlyHint": True})
    def read_it() -> str:
        return "done"

    with pytest.raises(MCPError) as caught:
        raw(server, "read_it", {})
    assert "hunter2" not in str(caught.value)
    assert [line["outcome"] for line in audit.lines("read_it")] == ["failed"]


def test_no_refused_argument_is_in_a_trace(database: str, spans: InMemorySpanExporter) -> None:
    fail(mcp, "create_issue", NEW | {"password": "hunter2", "labels": ["HUNTER2"]})
    written = [span.to_json() for span in spans.get_finished_spans()]
    assert any("create_issue" in span for span in written)
    assert not any("hunter2" in span.lower() for span in written)


def test_answers_over_http_are_not_held_back() -> None:
    """asyncio sets TCP_NODELAY only where the protocol is named; without it each answer waits 40 ms."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with _listen(str(port)) as listener:
        assert listener.proto == socket.IPPROTO_TCP
