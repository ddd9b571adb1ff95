"""The shop: no personal data gets out, no SQL gets in, an order is cancelled once and never after it has left."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import sqlalchemy as sa
from fastmcp import Client
from fastmcp.client.transports import PythonStdioTransport

from servers.backends import audit, shop, storage
from servers.backends.errors import NotFound
from servers.backends.world import Down, World
from servers.shop import mcp
from tests.servers.calling import Json, call, fail, listed
from tests.servers.running import ERAS, SERVERS, Mode, environment, http_server, run_server
from toolworthy import audit as look_at

pytestmark = pytest.mark.usefixtures("database")

TABLES = ("customers", "orders", "order_lines", "query_log")
# What must not get out of the texts of the sample rows; the columns email and phone are read from the rows.
IN_TEXTS = {
    "customers": [
        "0905.550.104", "lan_tran@mail.example.com", "０９０－５５５０－１０７０", "yui.work", "13800550108",
        "९८७६५ ५०११०",
        "(020) 910 1015", "sean murphy", "amina.yusuf@example.org", "john:hunter2", "hunter2", "555-010-0118",
    ],
    "orders": [
        "+84 905 550 119", "accounts@firm", "IE29 AIBK 9311 5212 3456 78", "4111 1111 1111 1111",
        "sk-live-4f9a8c7b6d5e4f3a2b1c",
    ],
    "query_log": [
        "amina.yusuf@example.org", "kettle", "ana.quispe@example.org", "Lima", "0905 550 120", "Trần Minh Anh",
        "CUS-1002", "Müller", "910\\'1014", "lan_tran@mail.example.com", "sk-live-4f9a8c7b6d5e4f3a2b1c", "Đà Nẵng",
        "Seán", "(020) 910 1015", "2026-11-01", "john.smith@example.com", "555-010-0118", "Юлия Иванова",
        "555-01-0", "ORD-100036",
    ],
}  # fmt: skip
INJECTIONS = [
    "mytable); DROP TABLE users; --", "CUS-1001'; DROP TABLE orders; --", "' OR '1'='1", "CUS-1001' OR 1=1 --",
    "CUS-1001 UNION SELECT email FROM customers", "CUS-%", "ORD-______", "%", "CUS-1001\\' OR 1=1 --", "CUS-1001\n",
    "CUS-1001\x00", 'CUS-1001"', "ＣＵＳ－１００１", "CUS-١٠٠١", "cus-1001", " CUS-1001", "",
    "1; WITH x AS (DELETE FROM orders) SELECT 1",
    "$$", "${jndi:ldap://x}", "{{7*7}}", "pending') OR ('1'='1", "ana.quispe@example.org", "+51 555 010 201",
]  # fmt: skip


def rows(table: str) -> list[Json]:
    with storage.reading() as connection:
        found = connection.execute(sa.select(storage.metadata.tables[table]))
        return [dict(row) for row in found.mappings()]


def stored() -> dict[str, list[str]]:
    return {table: sorted(map(str, rows(table))) for table in TABLES}


def several(calls: list[tuple[str, Json]]) -> list[Json]:
    """The structured answers, failures too, to many calls by one client."""

    async def run() -> list[Json]:
        async with Client(mcp) as client:
            results = [await client.call_tool_mcp(tool, arguments) for tool, arguments in calls]
        return [result.structured_content | {"is_error": result.is_error} for result in results]

    return asyncio.run(run())


def all_reads() -> list[tuple[str, str, Json]]:
    """A call for each row there is, with the table that its answer comes from."""
    people, orders = [[row[key] for row in rows(f"{key[:-3]}s")] for key in ("customer_id", "order_id")]
    return [
        *(("customers", "get_customer", {"customer_id": each}) for each in people),
        *(("orders", "list_orders", {"customer_id": each}) for each in people),
        *(("orders", "get_order", {"order_id": each}) for each in orders),
        ("query_log", "list_slow_queries", {"min_duration_ms": 1, "limit": 50}),
    ]


# --- what gets out ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ERAS)
def test_a_customer_has_a_name_and_a_city_and_masked_addresses(mode: Mode) -> None:
    assert call(mcp, "get_customer", {"customer_id": "CUS-1002"}, mode) == {
        "customer_id": "CUS-1002",
        "name": "Trần Minh Anh",
        "email": "m***@mail.example.com",
        "phone": "*** 03",
        "city": "Đà Nẵng",
        "delivery_note": "Gọi *** 04 trước khi giao, hoặc viết cho chị Lan: l***@mail.example.com",
        "orders": 4,
    }
    assert call(mcp, "get_customer", {"customer_id": "CUS-1008"}, mode)["phone"] is None


def test_nothing_personal_is_in_any_answer_failure_or_audit_line() -> None:
    hidden = {table: list(found) for table, found in IN_TEXTS.items()}
    for table, found in hidden.items():
        texts = "\n".join(str(value) for row in rows(table) for value in row.values())
        assert all(each in texts for each in found), "the test looks for what isn't there"
    hidden["customers"] += [row[field] for row in rows("customers") for field in ("email", "phone") if row[field]]
    personal = {each for each in hidden["customers"] + hidden["orders"]}

    reads = all_reads()
    cancels = [("cancel_order", {"order_id": row["order_id"], "reason": "out_of_stock"}) for row in rows("orders")]
    answers = several([(tool, arguments) for _, tool, arguments in reads] + cancels)
    assert not any(answer["is_error"] for answer in answers[: len(reads)])
    for answer, table in zip(answers, [table for table, *_ in reads] + ["orders"] * len(cancels), strict=True):
        text = json.dumps(answer, ensure_ascii=False)
        assert not [each for each in personal.union(hidden.get(table, ())) if each in text], text
    lines = json.dumps(audit.lines(), ensure_ascii=False, default=str)
    assert "CUS-1002" in lines and "*** 03" in lines
    assert not [each for each in personal if each in lines]


def test_a_failure_does_not_repeat_what_it_was_given() -> None:
    for tool, field in (("get_customer", "customer_id"), ("get_order", "order_id"), ("cancel_order", "reason")):
        for value in ("ana.quispe@example.org", "+51 555 010 201", "sk-live-4f9a8c7b6d5e4f3a2b1c"):
            arguments = {"order_id": "ORD-100001"} if tool == "cancel_order" else {}
            failure = fail(mcp, tool, arguments | {field: value})
            assert failure["errorCategory"] == "validation" and value not in str(failure)


def test_ids_times_amounts_and_cursors_are_not_taken_for_personal_data() -> None:
    known = rows("orders")
    for row, shown in zip(known, several([("get_order", {"order_id": row["order_id"]}) for row in known]), strict=True):
        assert (shown["order_id"], shown["customer_id"]) == (row["order_id"], row["customer_id"])
        for name in ("placed_at", "shipped_at", "delivered_at", "cancelled_at"):
            assert shown[name] == (row[name] and row[name].isoformat().replace("+00:00", "Z"))
    note = call(mcp, "get_order", {"order_id": "ORD-100022"})["note"]
    assert note == "Card [secret] didn't work, I paid with the other one on 2026-10-26."


def test_a_statement_keeps_its_form_only() -> None:
    shown = [each["statement"] for each in call(mcp, "list_slow_queries", {"min_duration_ms": 1, "limit": 50})["items"]]
    assert shown[2] == "SELECT name, phone FROM customers WHERE email = ? AND city <> ?"
    assert 'SELECT * FROM customers WHERE "name" = ? AND note = ?' in shown  # the log had cut its last value
    assert "DELETE FROM carts WHERE updated_at < ?" in shown  # and this one had a comment


# --- orders ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ERAS)
def test_an_order_has_its_lines_and_a_total_in_the_smallest_unit(mode: Mode) -> None:
    order = call(mcp, "get_order", {"order_id": "ORD-100007"}, mode)
    assert order == {
        "order_id": "ORD-100007", "customer_id": "CUS-1007", "status": "delivered", "currency": "KWD",
        "total_minor": 35900, "placed_at": "2026-09-14T06:15:00Z", "shipped_at": "2026-09-15T06:15:00Z",
        "delivered_at": "2026-09-18T06:15:00Z", "cancelled_at": None, "cancel_reason": None, "note": "",
        "lines": [
            {"sku": "TEAPOT-02", "title": "Teapot, cast iron", "quantity": 1, "unit_price_minor": 21500,
             "total_minor": 21500},
            {"sku": "CUP-03", "title": "Cup, stoneware", "quantity": 6, "unit_price_minor": 2400,
            "total_minor": 14400},
        ],
    }  # fmt: skip


def test_pages_joined_are_all_orders_of_the_customer_newest_first() -> None:
    asked: Json = {"customer_id": "CUS-1001", "limit": 3}
    seen, sizes = [], []
    while True:
        page = call(mcp, "list_orders", asked)
        seen += [each["order_id"] for each in page["items"]]
        sizes.append(len(page["items"]))
        if page["next_cursor"] is None:
            break
        asked["cursor"] = page["next_cursor"]
    mine = [row for row in rows("orders") if row["customer_id"] == "CUS-1001"]
    assert seen == [row["order_id"] for row in sorted(mine, key=lambda row: row["placed_at"], reverse=True)]
    assert sizes == [3, 3, 2]


def test_a_status_picks_orders_and_totals_are_those_of_the_orders() -> None:
    found = 0
    for status in ("pending", "paid", "shipped", "delivered", "cancelled", "returned"):
        for order in call(mcp, "list_orders", {"customer_id": "CUS-1001", "status": status})["items"]:
            whole = call(mcp, "get_order", {"order_id": order["order_id"]})
            assert order.items() <= whole.items() and order["status"] == status
            assert order["total_minor"] == sum(line["quantity"] * line["unit_price_minor"] for line in whole["lines"])
            found += 1
    assert found == call(mcp, "get_customer", {"customer_id": "CUS-1001"})["orders"] == 8


def test_no_orders_is_an_answer_and_no_customer_is_not() -> None:
    page = call(mcp, "list_orders", {"customer_id": "CUS-1012"})
    assert page["items"] == [] and page["note"].startswith("There are no orders with customer_id=CUS-1012")
    for tool in ("list_orders", "get_customer"):
        failure = fail(mcp, tool, {"customer_id": "CUS-9999"})
        assert failure["errorCategory"] == "validation" and "get_order" in failure["message"]
    for tool in ("get_order", "cancel_order"):
        reason = {"reason": "out_of_stock"} if tool == "cancel_order" else {}
        failure = fail(mcp, tool, {"order_id": "ORD-999999", **reason})
        assert failure["errorCategory"] == "validation" and "list_orders" in failure["message"]


def test_a_cursor_of_another_list_is_refused() -> None:
    cursor = call(mcp, "list_orders", {"customer_id": "CUS-1001", "limit": 1})["next_cursor"]
    right = {"customer_id": "CUS-1001", "cursor": cursor}
    for change in ({"customer_id": "CUS-1002"}, {"status": "paid"}, {"cursor": "bm9uZQ"}, {"cursor": cursor[:-2]}):
        assert "first page" in fail(mcp, "list_orders", right | change)["message"]


# --- cancelling ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order_id", ["ORD-100036", "ORD-100038"])  # paid, pending
def test_an_order_that_has_not_left_is_cancelled_once(served_world: World, order_id: str) -> None:
    before = call(mcp, "get_order", {"order_id": order_id})
    done = call(mcp, "cancel_order", {"order_id": order_id, "reason": "out_of_stock"})
    now = {"status": "cancelled", "cancel_reason": "out_of_stock", "cancelled_at": "2026-11-30T12:00:00Z"}
    assert done == {"changed": True, "order": before | now}
    served_world.clock.advance(60)
    after = stored()
    for reason in ("out_of_stock", "customer_request"):
        again = call(mcp, "cancel_order", {"order_id": order_id, "reason": reason})
        assert again == {"changed": False, "order": before | now}
    assert stored() == after and call(mcp, "get_order", {"order_id": order_id}) == before | now


@pytest.mark.parametrize(
    ("order_id", "instead"), [("ORD-100030", "return it"), ("ORD-100001", "return it"), ("ORD-100004", "come back")]
)
def test_an_order_that_has_left_is_not_cancelled_and_the_refusal_says_what_to_do(order_id: str, instead: str) -> None:
    before = stored()
    failure = fail(mcp, "cancel_order", {"order_id": order_id, "reason": "customer_request"})
    assert failure["errorCategory"] == "business" and failure["isRetryable"] is False
    assert instead in failure["message"] and order_id in failure["message"]
    assert stored() == before


def test_of_parallel_cancellations_one_changes_the_order() -> None:
    for order_id in ("ORD-100034", "ORD-100035", "ORD-100038"):
        with ThreadPoolExecutor(4) as pool:
            done = [
                pool.submit(call, mcp, "cancel_order", {"order_id": order_id, "reason": reason})
                for reason in ("out_of_stock", "customer_request", "payment_failed", "suspected_fraud")
            ]
        answers = [each.result() for each in done]
        assert sorted(answer["changed"] for answer in answers) == [False, False, False, True]
        (stays,) = {answer["order"]["cancel_reason"] for answer in answers}
        (reason,) = [call["arguments"]["reason"] for call in audit.lines() if _changed(call, order_id)]
        assert reason == stays


def _changed(line: Json, order_id: str) -> bool:
    summary: Any = line["summary"]
    return line["outcome"] == "done" and summary["order"]["order_id"] == order_id and summary["changed"]


def test_an_order_that_is_being_shipped_is_shipped_or_cancelled_and_never_both() -> None:
    orders = storage.metadata.tables["orders"]
    unsent = orders.c.status.in_(("pending", "paid"))

    def ship(order_id: str) -> sa.Update:
        return orders.update().where(orders.c.order_id == order_id, unsent).values(status="shipped")

    written, asked = threading.Event(), {"order_id": "ORD-100036", "reason": "customer_request"}

    def ship_slowly() -> None:
        with storage.writing() as connection:
            connection.execute(ship("ORD-100036"))
            written.set()
            threading.Event().wait(0.5)

    with ThreadPoolExecutor(1) as pool:
        shipped = pool.submit(ship_slowly)
        written.wait(10)
        failure = fail(mcp, "cancel_order", asked)  # comes while the warehouse is at it
        shipped.result()
    assert failure["errorCategory"] == "business"
    order = call(mcp, "get_order", {"order_id": "ORD-100036"})
    assert (order["status"], order["cancelled_at"], order["cancel_reason"]) == ("shipped", None, None)

    call(mcp, "cancel_order", asked | {"order_id": "ORD-100035"})
    with storage.writing() as connection:
        assert connection.execute(ship("ORD-100035")).rowcount == 0


def test_without_a_clock_or_a_database_nothing_is_cancelled(
    served_world: World, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, asked = stored(), {"order_id": "ORD-100036", "reason": "customer_request"}
    for times in (1, 2):  # the first look at the clock is the audit log's, the second the tool's
        if times == 2:
            served_world.schedule("clock.now", Down(), times=1)
        served_world.schedule("clock.now", Down())
        failure = fail(mcp, "cancel_order", asked)
        assert failure["errorCategory"] == "transient" and stored() == before
    monkeypatch.setenv("TOOLWORTHY_DATABASE", "postgresql+psycopg://me@127.0.0.1:1/none?connect_timeout=2")
    for tool, arguments in (("cancel_order", asked), ("get_order", {"order_id": "ORD-100036"})):
        failure = fail(mcp, tool, arguments)
        assert failure["errorCategory"] == "transient" and "127.0.0.1" not in str(failure)
    monkeypatch.setenv("TOOLWORTHY_DATABASE", database)
    assert stored() == before
    assert call(mcp, "cancel_order", asked)["changed"] is True


# --- slow queries ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ERAS)
def test_slow_queries_come_slowest_first_and_say_what_is_left_out(mode: Mode) -> None:
    top = call(mcp, "list_slow_queries", {"limit": 3}, mode)
    assert [each["mean_ms"] for each in top["items"]] == [8123.4, 4310.6, 2874.2]
    assert top["matching"] == 13 and top["note"].startswith("3 of 13 statements with a mean of 100 ms or more")
    assert top["items"][0] == {
        "statement": "SELECT * FROM orders JOIN order_lines USING (order_id) WHERE note LIKE ?",
        "calls": 14, "mean_ms": 8123.4, "max_ms": 15020.9, "last_seen": "2026-11-30T11:58:20Z",
    }  # fmt: skip
    assert "raise limit" in top["note"]
    six = call(mcp, "list_slow_queries", {"min_duration_ms": 1000, "limit": 50}, mode)
    assert len(six["items"]) == six["matching"] == 6 and "raise limit" not in six["note"]


def test_no_slow_query_is_an_answer() -> None:
    none = call(mcp, "list_slow_queries", {"min_duration_ms": 600_000})
    assert (none["items"], none["matching"]) == ([], 0) and "not an error" in none["note"]


def test_a_very_long_statement_is_cut() -> None:
    with storage.writing() as connection:
        row = {"statement": "SELECT " + "x, " * 100_000, "calls": 1, "mean_ms": 9e5, "max_ms": 9e5}
        seen = rows("query_log")[0]["last_seen"]
        connection.execute(storage.metadata.tables["query_log"].insert().values(**row, last_seen=seen))
    (longest,) = call(mcp, "list_slow_queries", {"limit": 1})["items"]
    assert len(longest["statement"]) <= 1_000


# --- what gets in ----------------------------------------------------------------------------------------------------


def test_sql_in_an_argument_is_refused_before_it_gets_anywhere() -> None:
    before = stored()
    fields: list[tuple[str, str, Json]] = [
        ("get_customer", "customer_id", {}),
        ("list_orders", "customer_id", {}),
        ("list_orders", "status", {"customer_id": "CUS-1001"}),
        ("list_orders", "cursor", {"customer_id": "CUS-1001"}),
        ("get_order", "order_id", {}),
        ("cancel_order", "order_id", {"reason": "out_of_stock"}),
        ("cancel_order", "reason", {"order_id": "ORD-100036"}),
        ("list_slow_queries", "min_duration_ms", {}),
        ("list_slow_queries", "limit", {}),
    ]
    calls = [(tool, others | {field: value}) for tool, field, others in fields for value in INJECTIONS]
    for (tool, arguments), failure in zip(calls, several(calls), strict=True):
        assert failure["is_error"] and failure["errorCategory"] == "validation", (tool, arguments)
    assert stored() == before


def test_behind_the_schemas_it_is_data_still() -> None:
    before, statements = stored(), []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        statements.append(statement)

    sa.event.listen(storage.engine(), "before_cursor_execute", note)
    try:
        for value in INJECTIONS:
            value = value.replace("\x00", "")  # PostgreSQL has none
            for look in (shop.customer, shop.order, lambda x: shop.cancel(x, x), lambda x: shop.orders(x, x, 5, None)):
                if value != "CUS-1001":
                    with pytest.raises(NotFound):
                        look(value)
            assert shop.orders("CUS-1001", value, 5, None)["items"] == []
    finally:
        sa.event.remove(storage.engine(), "before_cursor_execute", note)
    assert stored() == before
    shop.cancel("ORD-100040", INJECTIONS[0])
    assert shop.order("ORD-100040")["cancel_reason"] == INJECTIONS[0]
    assert len(statements) > 100 and not [each for each in statements if "'" in each or "CUS-" in each]


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        ("list_slow_queries", {"min_duration_ms": 0}, "min_duration_ms"),
        ("list_slow_queries", {"min_duration_ms": 600_001}, "min_duration_ms"),
        ("list_slow_queries", {"min_duration_ms": 1.5}, "min_duration_ms"),
        ("list_slow_queries", {"min_duration_ms": True}, "min_duration_ms"),
        ("list_slow_queries", {"limit": 51}, "limit"),
        ("list_slow_queries", {"limit": 0}, "limit"),
        ("list_slow_queries", {"sql": "SELECT 1"}, "sql"),
        ("list_orders", {"customer_id": "CUS-1001", "limit": 101}, "limit"),
        ("list_orders", {"customer_id": "CUS-1001", "status": "Paid"}, "status"),
        ("list_orders", {}, "customer_id"),
        ("cancel_order", {"order_id": "ORD-100036"}, "reason"),
        ("get_order", {"order_id": 100036}, "order_id"),
    ],
)
def test_a_wrong_argument_is_named(tool: str, arguments: Json, field: str) -> None:
    failure = fail(mcp, tool, arguments)
    assert [problem["field"] for problem in failure["problems"]] == [field]
    assert "pydantic" not in failure["message"]


# --- as a whole ------------------------------------------------------------------------------------------------------


def test_hints_are_true() -> None:
    arguments: dict[str, Json] = {
        "get_customer": {"customer_id": "CUS-1001"},
        "list_orders": {"customer_id": "CUS-1001"},
        "get_order": {"order_id": "ORD-100036"},
        "cancel_order": {"order_id": "ORD-100036", "reason": "customer_request"},
        "list_slow_queries": {},
    }
    tools = {tool.name: tool for tool in listed(mcp)}
    assert tools.keys() == arguments.keys()
    for name, tool in tools.items():
        before = stored()
        call(mcp, name, arguments[name])
        after = stored()
        kept = all(set(before[table]) <= set(after[table]) for table in before)
        assert (before == after) is tool.annotations.read_only_hint, name
        assert kept is not tool.annotations.destructive_hint, name
        call(mcp, name, arguments[name])
        assert (stored() == after) is tool.annotations.idempotent_hint, name
        assert tool.annotations.open_world_hint is False


def test_the_checklist_has_nothing_to_say() -> None:
    assert str(asyncio.run(look_at(mcp))).startswith("no violations in 5 tools")


def test_every_call_is_in_the_audit_log() -> None:
    call(mcp, "cancel_order", {"order_id": "ORD-100036", "reason": "customer_request"})
    fail(mcp, "cancel_order", {"order_id": "ORD-100030", "reason": "customer_request"})
    fail(mcp, "cancel_order", {"order_id": "ORD-100030", "reason": "because"})
    call(mcp, "get_customer", {"customer_id": "CUS-1001"})
    lines = audit.lines()
    assert [(line["tool"], line["outcome"], line["error_category"]) for line in lines] == [
        ("cancel_order", "begun", None), ("cancel_order", "done", None),
        ("cancel_order", "begun", None), ("cancel_order", "refused", "business"),
        ("cancel_order", "begun", None), ("cancel_order", "refused", "validation"),
        ("get_customer", "done", None),
    ]  # fmt: skip
    assert lines[-1]["summary"]["email"] == "a***@example.org"


def test_over_stdio_a_cancellation_outlives_the_process(database: str) -> None:
    env = environment(TOOLWORTHY_DATABASE=database)
    server = PythonStdioTransport(SERVERS / "shop.py", env=env, keep_alive=False)
    asked = {"order_id": "ORD-100036", "reason": "customer_request"}
    first = call(server, "cancel_order", asked)
    assert first["changed"] is True
    assert call(mcp, "cancel_order", asked) == first | {"changed": False}


ONCE = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


@ONCE
def test_over_http(database: str) -> None:
    with http_server(SERVERS / "shop.py", TOOLWORTHY_DATABASE=database) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        for mode in ERAS:
            assert call(url, "get_customer", {"customer_id": "CUS-1003"}, mode)["email"] == "ю***@пример.испытание"
            assert fail(url, "get_customer", {"customer_id": "CUS-%"}, mode)["errorCategory"] == "validation"


@ONCE
def test_help_says_what_it_needs() -> None:
    done = run_server(SERVERS / "shop.py", "--help")
    assert done.returncode == 0 and "a database" in done.stdout
    wrong = run_server(SERVERS / "shop.py", TOOLWORTHY_DATABASE="nonsense")
    assert wrong.returncode == 2 and wrong.stderr.count("\n") == 1
