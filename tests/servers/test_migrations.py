"""Migrations: what is planned is what is executed, once, all or none, or not at all; on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import sqlalchemy as sa
from fastmcp import Client
from fastmcp.client.transports import PythonStdioTransport
from sqlalchemy.engine.reflection import ObjectKind
from sqlalchemy.exc import DBAPIError

from servers.backends import audit, keys, migrations, migrations_database, storage
from servers.backends.errors import Forbidden
from servers.backends.world import Down, Slow, World
from servers.migrations import mcp
from tests.servers.calling import Json, call, fail, listed
from tests.servers.conftest import new_database
from tests.servers.running import ERAS, SERVERS, Mode, environment, http_server, run_server
from toolworthy import audit as audit_rules

FILE = SERVERS / "migrations.py"
SAMPLE = (SERVERS / "backends" / "sample_shop.sql").read_text("utf-8").strip().removesuffix(";").split(";\n")
NOTE: Json = {"change": "add_column", "table": "customers", "column": "note", "type": "text"}
NO_FAX: Json = {"change": "drop_column", "table": "products", "column": "fax_text"}
UNIQUE_NAME: Json = {
    "change": "create_index", "table": "customers", "index": "customers_name", "columns": ["name"], "unique": True,
}  # fmt: skip


class Shop:
    """A database to migrate, which the tests look at and change without the server."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine = sa.create_engine(url, poolclass=sa.NullPool)
        self.kind = self.engine.dialect.name

    def sql(self, *statements: str) -> list[Any]:
        """Run statements in one transaction; the rows of the last."""
        with self.engine.begin() as connection:
            for statement in statements:
                done = connection.exec_driver_sql(statement, execution_options={"no_parameters": True})
            return [tuple(row) for row in done] if done.returns_rows else []

    def dump(self) -> Json:
        """Everything in it: columns, indexes and rows of each table."""
        with self.engine.connect() as connection:
            inspector, found = sa.inspect(connection), {}
            columns, indexes = inspector.get_multi_columns(kind=ObjectKind.ANY), inspector.get_multi_indexes()
            for key, each in columns.items():
                rows = connection.execute(sa.select(sa.text("*")).select_from(sa.table(sa.quoted_name(key[1], True))))
                shown = [
                    (column["name"], str(column["type"]), column["nullable"], column["default"]) for column in each
                ]
                found[key[1]] = shown, indexes.get(key, []), sorted(map(repr, rows))
        return found

    def columns(self, table: str) -> list[str]:
        return [column["name"] for column in sa.inspect(self.engine).get_columns(table)]


# To make a PostgreSQL database takes longer than most of these tests. They share one as storage, where each looks at
# what it added, and one as shop, which is emptied.
@pytest.fixture(scope="module")
def postgres_storage(postgres: str) -> str:
    return new_database(postgres)


@pytest.fixture(scope="module")
def postgres_shop(postgres: str) -> Shop:
    return Shop(new_database(postgres))


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The storage, of each kind; TOOLWORTHY_DATABASE names it."""
    sqlite = request.param == "sqlite"
    url = f"sqlite:///{tmp_path / 'servers.db'}" if sqlite else request.getfixturevalue("postgres_storage")
    monkeypatch.setenv("TOOLWORTHY_DATABASE", url)
    return str(url)


def a_shop(kind: str, request: pytest.FixtureRequest, folder: Path) -> Shop:
    """A new one with the sample's tables and rows."""
    if kind == "sqlite":
        shop = Shop(f"sqlite:///{folder / 'shop.db'}")
    else:
        shop = request.getfixturevalue("postgres_shop")
        shop.sql("drop schema public cascade", "create schema public")
    shop.sql(*SAMPLE)
    return shop


@pytest.fixture
def shop(database: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """A shop of the same kind as the storage; TOOLWORTHY_MIGRATE names it."""
    shop = a_shop(sa.make_url(database).get_backend_name(), request, tmp_path)
    monkeypatch.setenv("TOOLWORTHY_MIGRATE", shop.url)
    monkeypatch.setenv("TOOLWORTHY_TIME_LIMIT", "1")
    return shop


def another_shop(shop: Shop, request: pytest.FixtureRequest, folder: Path) -> Shop:
    """Like `shop` at first."""
    if shop.kind == "sqlite":
        folder /= "another"
        folder.mkdir()
        return a_shop("sqlite", request, folder)
    other = Shop(new_database(request.getfixturevalue("postgres")))
    other.sql(*SAMPLE)
    return other


def plan(*changes: Json, target: Any = mcp, mode: Mode = "auto") -> Json:
    return call(target, "plan_migration", {"changes": list(changes)}, mode)


def no_plan(*changes: Json) -> Json:
    return fail(mcp, "plan_migration", {"changes": list(changes)})


def execute(made: Json) -> Json:
    return call(mcp, "execute_plan", {"plan_id": made["plan_id"]})


def refused(made: Json) -> Json:
    return fail(mcp, "execute_plan", {"plan_id": made["plan_id"]})


def many(tool: str, arguments: list[Json]) -> list[Json]:
    """The structured results of calls over one connection, all at once."""

    async def run() -> list[Json]:
        async with Client(mcp) as client:
            results = await asyncio.gather(*(client.call_tool_mcp(tool, each) for each in arguments))
        return [result.structured_content or {} for result in results]

    return asyncio.run(run())


def plans() -> int:
    """How many are stored."""
    with storage.reading() as connection:
        return connection.scalar(sa.text("select count(*) from migration_plans")) or 0


# --- looking ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ERAS)
def test_the_schema_is_told_as_it_is(shop: Shop, mode: Mode) -> None:
    shop.sql('create unique index by_state on "order" (lower(state), id)')
    found = call(mcp, "inspect_schema", {}, mode)
    assert found["database"] == shop.kind
    assert found["table_names"] == ["customers", "order", "products"] and found["table_count"] == 3
    assert found["view_names"] == ["open_orders"]
    assert [table["name"] for table in found["tables"]] == found["table_names"]
    assert call(mcp, "inspect_schema", {"tables": None}, mode) == found
    twice = fail(mcp, "inspect_schema", {"tables": ["order", "order"]}, mode)
    assert twice["errorCategory"] == "validation"
    order = found["tables"][1]
    assert order["rows"] == 3
    assert [column["name"] for column in order["columns"]] == shop.columns("order")
    by_name = {column["name"]: column for column in order["columns"]}
    assert by_name["id"]["primary_key"] and not by_name["id"]["nullable"] and not by_name["state"]["primary_key"]
    assert by_name["state"]["type"].lower() == "text" and "open" in by_name["state"]["default"]
    assert order["indexes"] == [
        {"name": "by_state", "columns": ["(expression)", "id"], "unique": True},
        {"name": "order_customer", "columns": ["customer_id"], "unique": False},
    ]
    assert order["foreign_keys"] == [
        {"columns": ["customer_id"], "references_table": "customers"},
        {"columns": ["product_id"], "references_table": "products"},
    ]
    assert found["tables"][0]["columns"][3] | {"type": ""} == {
        "name": "city", "type": "", "nullable": True, "default": None, "primary_key": False,
    }  # fmt: skip


def test_of_many_tables_all_names_and_the_first_twenty_are_shown(shop: Shop) -> None:
    shop.sql(*(f"create table t{n:03} (id integer)" for n in range(30)))
    found = call(mcp, "inspect_schema", {})
    assert found["table_count"] == len(found["table_names"]) == 33 and len(found["tables"]) == 20
    (one,) = call(mcp, "inspect_schema", {"tables": ["t029"]})["tables"]
    assert one == {
        "name": "t029", "rows": 0, "indexes": [], "foreign_keys": [],
        "columns": [
            {"name": "id", "type": one["columns"][0]["type"], "nullable": True, "default": None, "primary_key": False}
        ],
    }  # fmt: skip


def test_an_empty_database_is_an_answer(shop: Shop) -> None:
    shop.sql("drop view open_orders", 'drop table "order"', "drop table products", "drop table customers")
    found = call(mcp, "inspect_schema", {})
    assert (found["table_names"], found["tables"], found["table_count"]) == ([], [], 0)
    assert "There are: none" in no_plan(NOTE)["message"]


def test_a_table_that_is_not_there_is_said_with_what_is_there(shop: Shop) -> None:
    failure = fail(mcp, "inspect_schema", {"tables": ["customer"]})
    assert failure["errorCategory"] == "validation" and failure["suggestions"] == ["customers"]
    assert "customers, order, products" in failure["message"]


def test_the_fingerprint_follows_the_schema_and_not_the_rows(shop: Shop) -> None:
    def fingerprint() -> str:
        return str(call(mcp, "inspect_schema", {})["schema_fingerprint"])

    seen = [fingerprint()]
    shop.sql("insert into customers values (9, 'x', 'x', 'x')", "update products set price_cents = 1")
    assert fingerprint() == seen[0]
    for statement in (
        "alter table customers add column a integer",
        "alter table customers drop column a",
        "alter table customers add column a integer",  # as it was; but values may have been lost
        "create index i on customers (a)",
        "create view v as select name from customers",
        "create table t (a integer check (a > 0))",
        "drop table t; create table t (a integer check (a > 0))",
    ):
        shop.sql(*statement.split("; "))
        assert fingerprint() not in seen, statement
        seen.append(fingerprint())


# --- planning --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ERAS)
def test_a_plan_says_what_it_would_do_and_does_nothing(world: World, shop: Shop, mode: Mode) -> None:
    before = shop.dump()
    made = plan(NOTE, NO_FAX, mode=mode)
    assert made["statements"] == [
        'ALTER TABLE "customers" ADD COLUMN "note" TEXT',
        'ALTER TABLE "products" DROP COLUMN "fax_text"',
    ]
    assert made["touched"] == [
        {"table": "customers", "rows": 4, "lost_columns": []},
        {"table": "products", "rows": 3, "lost_columns": ["fax_text"]},
    ]
    assert made["loses_data"] is True and plan(NOTE)["loses_data"] is False
    assert made["schema_fingerprint"] == call(mcp, "inspect_schema", {})["schema_fingerprint"]
    assert shop.dump() == before and world.ledger == ()


def test_what_is_executed_is_what_was_planned_to_the_letter(
    shop: Shop, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    changes: list[Json] = [
        NOTE | {"nullable": False, "default": "it's 50% :x %s \\ \" ; -- \n é"},
        {"change": "add_column", "table": "customers", "column": "Ängste", "type": "integer", "default": -(2**53) + 1},
        {"change": "add_column", "table": "customers", "column": "vip", "type": "boolean", "default": False},
        *(
            {"change": "add_column", "table": "products", "column": f"a_{kind}", "type": kind}
            for kind in ("text", "integer", "number", "boolean", "date", "timestamp")
        ),
        {"change": "rename_column", "table": "customers", "column": "name", "new_name": "Name"},
        {"change": "rename_column", "table": "order", "column": "quantity", "new_name": "select"},
        {"change": "create_index", "table": "order", "index": "Group", "columns": ["select", "state"]},
        {"change": "create_index", "table": "products", "index": "u", "columns": ["name"], "unique": True},
        {"change": "drop_index", "table": "order", "index": "order_customer"},
        NO_FAX,
    ]
    twin = another_shop(shop, request, tmp_path)
    made = plan(*changes)
    done = execute(made)
    twin.sql(*made["statements"])
    assert shop.dump() == twin.dump()
    assert done["statements"] == made["statements"] and done["executed_before"] is False
    after = call(mcp, "inspect_schema", {})
    assert done["schema_fingerprint"] == after["schema_fingerprint"] != made["schema_fingerprint"]
    columns = shop.columns("customers")
    assert columns == ["id", "Name", "email", "city", "note", "Ängste", "vip"]
    assert shop.sql('select distinct note, "Ängste", vip from customers') == [
        ("it's 50% :x %s \\ \" ; -- \n é", -(2**53) + 1, False)
    ]


def test_changes_of_one_plan_build_on_each_other(shop: Shop) -> None:
    made = plan(
        NOTE,
        {"change": "rename_column", "table": "customers", "column": "note", "new_name": "remark"},
        {"change": "create_index", "table": "customers", "index": "by_remark", "columns": ["remark"]},
        {"change": "drop_index", "table": "customers", "index": "by_remark"},
        {"change": "drop_column", "table": "customers", "column": "remark"},
        {"change": "drop_index", "table": "order", "index": "order_customer"},
        {"change": "create_index", "table": "order", "index": "order_customer", "columns": ["product_id"]},
    )
    before = shop.columns("customers")
    assert made["loses_data"] is False  # what goes was made by the plan itself
    execute(made)
    assert shop.columns("customers") == before
    assert sa.inspect(shop.engine).get_indexes("order")[0]["column_names"] == ["product_id"]


def test_any_name_that_is_there_can_be_worked_on(shop: Shop) -> None:
    names = ['we"ird', "50%", "%s", "a:b", "Größe", "Upper", "order by", "semi;colon", "it's", "-- x", "日本", "group"]
    for name in names:
        quoted = '"' + name.replace('"', '""') + '"'
        index = '"' + name.replace('"', '""') + ' index"'
        shop.sql(f"create table {quoted} ({quoted} integer, keep integer)", f"create index {index} on {quoted} (keep)")
        shop.sql(f"insert into {quoted} values (1, 2)")
    before = shop.dump()
    for three in (names[:3], names[3:6], names[6:9], names[9:]):
        changes: list[Json] = []
        for name in three:
            changes += [
                {"change": "add_column", "table": name, "column": "more", "type": "text"},
                {"change": "create_index", "table": name, "index": "u", "columns": [name, "keep"], "unique": True},
                {"change": "drop_index", "table": name, "index": "u"},
                {"change": "drop_index", "table": name, "index": name + " index"},
                {"change": "rename_column", "table": name, "column": name, "new_name": "plain"},
                {"change": "drop_column", "table": name, "column": "plain"},
            ]
        made = plan(*changes)
        assert made["touched"] == [{"table": name, "rows": 1, "lost_columns": [name]} for name in three]
        execute(made)
    after = shop.dump()
    for name in names:
        columns, indexes, rows = after.pop(name)
        assert ([column[0] for column in columns], indexes, rows) == (["keep", "more"], [], ["(2, None)"])
    assert after == {table: before[table] for table in after}


ATTACKS = [
    "mytable); DROP TABLE customers; --", 'customers"; DROP TABLE customers; --', "customers' OR '1'='1", "customers--",
    "customers UNION SELECT 1", "sqlite_master", "pg_catalog.pg_class", "pg_class", "public.customers", "customers\x00",
    "customers\n", "CUSTOMERS", "*", "", " customers", "%s", ":x", "'; SELECT pg_sleep(9); --", "\u202ecustomers",
    "../../etc/passwd", "x" * 200, "[customers]", "`customers`", "main.customers", "customers/*",
]  # fmt: skip


NEW_NAMES = {("add_column", "column"), ("rename_column", "new_name"), ("create_index", "index")}


def test_attacks_in_names_reach_the_database_as_nothing(shop: Shop) -> None:
    before = plans(), shop.dump()
    rename: Json = {"change": "rename_column", "table": "customers", "column": "city", "new_name": "town"}
    drop: Json = {"change": "drop_index", "table": "order", "index": "order_customer"}
    tried = [
        (change, field, text)
        for change in (NOTE, NO_FAX, UNIQUE_NAME, rename, drop)
        for field in change.keys() & {"table", "column", "columns", "index", "new_name"}
        for text in ATTACKS
        if not (text.isidentifier() and (change["change"], field) in NEW_NAMES)  # a good name, if a strange one
    ]
    changed = [change | {field: [text] if field == "columns" else text} for change, field, text in tried]
    answers = many("plan_migration", [{"changes": [change]} for change in changed])
    answers += many("inspect_schema", [{"tables": [text]} for text in ATTACKS])
    assert {answer.get("errorCategory") for answer in answers} == {"validation"}
    assert (plans(), shop.dump()) == before


def test_attacks_in_values_are_values(shop: Shop) -> None:
    texts = [text for text in ATTACKS if "\x00" not in text]
    changes = [NOTE | {"column": f"note{n}", "default": text} for n, text in enumerate(texts)]
    for part in (0, 20):
        execute(plan(*changes[part : part + 20]))
    names = ", ".join(f"note{n}" for n in range(len(texts)))
    assert shop.sql(f"select {names} from customers where id = 1") == [tuple(texts)]
    assert no_plan(NOTE | {"default": "a\x00b"})["errorCategory"] == "validation"


IMPOSSIBLE: list[tuple[Json, str]] = [
    (NOTE | {"column": "Name"}, "taken"),
    (UNIQUE_NAME | {"index": "Order_Customer"}, "taken"),
    (UNIQUE_NAME | {"index": "products"}, "taken"),
    (UNIQUE_NAME | {"index": "open_orders"}, "taken"),
    ({"change": "rename_column", "table": "customers", "column": "name", "new_name": "email"}, "taken"),
    ({"change": "rename_column", "table": "customers", "column": "name", "new_name": "name"}, "taken"),
    (NOTE | {"nullable": False}, "default"),
    (UNIQUE_NAME | {"columns": ["email"]}, "unique"),
    (NO_FAX | {"table": "order", "column": "customer_id"}, "order_customer"),
    (NO_FAX | {"table": "order", "column": "state"}, "open_orders"),
    (NO_FAX | {"table": "order", "column": "quantity"}, "quantity"),
    (NO_FAX | {"table": "order", "column": "product_id"}, "product_id"),
    (NO_FAX | {"column": "id"}, "id"),
]


def test_the_impossible_is_refused_when_it_is_planned(shop: Shop) -> None:
    before = plans(), shop.dump()
    for change, says in IMPOSSIBLE:
        failure = no_plan(NOTE | {"column": "first"}, change)
        assert failure["errorCategory"] == "business" and says in failure["message"], (change, failure)
    assert (plans(), shop.dump()) == before


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ([NOTE | {"sql": "drop table customers"}], "changes.0.add_column.sql"),
        ([], "changes"), ([NOTE] * 21, "changes"), ([NOTE | {"colour": "red"}], "changes.0.add_column.colour"),
        ([{"change": "execute_sql", "sql": "drop table customers"}], "changes.0"), ("drop table customers", "changes"),
        ([NOTE | {"type": "integer", "default": "5"}], "changes.0.add_column"),
        ([NOTE | {"type": "integer", "default": True}], "changes.0.add_column"),
        ([NOTE | {"default": 5}], "changes.0.add_column"),
        ([NOTE | {"type": "date", "default": "2026-01-01"}], "changes.0.add_column"),
        ([NOTE | {"column": "ü" * 32}], "changes.0.add_column.column"),
        ([UNIQUE_NAME | {"columns": ["name", "name"]}], "changes.0.create_index.columns"),
        ([NOTE | {"nullable": "no"}], "changes.0.add_column.nullable"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_wrong_argument_is_named(shop: Shop, changes: Any, field: str) -> None:
    failure = fail(mcp, "plan_migration", {"changes": changes})
    assert failure["errorCategory"] == "validation"
    assert [problem["field"] for problem in failure["problems"]] == [field]


# --- executing -------------------------------------------------------------------------------------------------------


def test_a_plan_works_once_and_says_so_when_it_is_repeated(shop: Shop) -> None:
    made = plan(NOTE)
    first = execute(made)
    shop.sql("alter table customers drop column note")
    after = shop.dump()
    assert execute(made) == first | {"executed_before": True}
    assert shop.dump() == after


def test_parallel_executions_are_one(shop: Shop) -> None:
    made = plan(NOTE, {"change": "rename_column", "table": "customers", "column": "city", "new_name": "town"})
    results = many("execute_plan", [{"plan_id": made["plan_id"]}] * 8)
    assert Counter(result.get("executed_before") for result in results)[False] == 1
    for result in results:
        assert "executed_before" in result or result["errorCategory"] == "transient"
    assert shop.columns("customers")[-1] == "note" and execute(made)["executed_before"] is True


def test_of_two_plans_at_once_the_second_is_stale(shop: Shop) -> None:
    made = [plan(NOTE | {"column": f"note{n}"}) for n in range(6)]
    results = many("execute_plan", [{"plan_id": each["plan_id"]} for each in made])
    assert Counter(result.get("errorCategory") for result in results) == {None: 1, "business": 5}
    assert len(shop.columns("customers")) == 5


def test_a_changed_schema_makes_a_plan_stale_for_good(shop: Shop) -> None:
    for change in (
        ["alter table products add column x integer"],
        ["alter table products rename column name to title"],
        ["create index i on customers (name)"],
        ["alter table products drop column fax_text", "alter table products add column fax_text text"],
        ["drop view open_orders"],
        ["drop view if exists open_orders", 'drop table "order"', "drop table products"],  # a table of the plan
    ):
        made = plan(NOTE, NO_FAX)
        shop.sql(*change)
        before = shop.dump()
        failure = refused(made)
        assert failure["errorCategory"] == "business" and "plan_migration again" in failure["message"], change
        assert refused(made) == failure and shop.dump() == before


def test_changed_rows_do_not_make_a_plan_stale(shop: Shop) -> None:
    made = plan(NOTE)
    shop.sql("insert into customers values (9, 'x', 'x', 'x')", "delete from customers where id = 3")
    assert execute(made)["executed_before"] is False


def test_a_change_that_comes_while_the_plan_waits_makes_it_stale(shop: Shop) -> None:
    """The fingerprint is taken under the lock, not before it."""
    made = plan(NOTE)
    with shop.engine.connect() as other, ThreadPoolExecutor(1) as pool:
        other.exec_driver_sql("begin immediate" if shop.kind == "sqlite" else "lock table customers")
        other.exec_driver_sql("alter table customers rename column city to town")
        result = pool.submit(refused, made)
        time.sleep(0.3)
        assert not result.done()
        other.commit()
        assert result.result()["errorCategory"] == "business"
    assert "note" not in shop.columns("customers")


def test_a_plan_is_for_one_database_only(
    shop: Shop, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = another_shop(shop, request, tmp_path)
    before = other.dump()
    made = plan(NO_FAX)
    monkeypatch.setenv("TOOLWORTHY_MIGRATE", other.url)
    assert refused(made)["errorCategory"] == "business" and other.dump() == before


def test_a_plan_expires_by_the_world_and_an_executed_one_still_answers(served_world: World, shop: Shop) -> None:
    made, late, now = plan(NOTE), plan(NO_FAX), served_world.clock.now
    assert made["expires_at"] == (now + migrations.LIFETIME).isoformat().replace("+00:00", "Z")
    served_world.clock.advance(15 * 60 - 1)
    first = execute(made)
    fresh = plan(NO_FAX)
    served_world.clock.advance(1)
    before = shop.dump()
    for _ in range(2):
        failure = refused(late)
        assert failure["errorCategory"] == "business" and "expired" in failure["message"]
    assert execute(made) == first | {"executed_before": True} and shop.dump() == before
    assert execute(fresh)["executed_before"] is False
    served_world.clock.advance(keys.LIFETIME.total_seconds())
    after = shop.dump()
    assert "expired" in refused(made)["message"] and shop.dump() == after


@pytest.mark.parametrize(
    ("change", "row"),
    [
        (NOTE | {"nullable": False, "table": "empty"}, "insert into empty values (1)"),
        (UNIQUE_NAME, "insert into customers values (9, 'Amina Yusuf', 'x', null)"),
    ],
    ids=["missing value", "duplicate"],
)
def test_what_fails_in_the_database_is_undone_and_uses_the_plan_up(shop: Shop, change: Json, row: str) -> None:
    shop.sql("create table empty (id integer)")
    made = plan(NO_FAX, NOTE | {"column": "other"}, change)
    shop.sql(row)
    before = shop.dump()
    failure = refused(made)
    assert failure["errorCategory"] == "business" and made["statements"][2] in failure["message"]
    for word in ("psycopg", "sqlite3", "UNIQUE constraint", "DETAIL", "Traceback", "Amina", shop.url):
        assert word not in str(failure)
    assert shop.dump() == before
    shop.sql("delete from empty", "delete from customers where id = 9")
    assert refused(made) == failure and "other" not in shop.columns("customers")
    assert execute(plan(NO_FAX, change))["executed_before"] is False


def test_a_made_up_plan_is_a_wrong_argument(shop: Shop) -> None:
    plan(NOTE)
    before = shop.dump()
    made_up = ["plan_" + "0" * 32, "plan_x", "", "plan_" + "A" * 32, "1", "plan_" + "0" * 33, "plan_%", "*"]
    answers = many("execute_plan", [{"plan_id": plan_id} for plan_id in made_up])
    assert {answer["errorCategory"] for answer in answers} == {"validation"} and shop.dump() == before


def test_a_plan_of_another_server_is_a_wrong_argument(
    shop: Shop, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = plan(NOTE)
    monkeypatch.setenv("TOOLWORTHY_DATABASE", f"sqlite:///{tmp_path / 'another.db'}")
    assert refused(made)["errorCategory"] == "validation" and "note" not in shop.columns("customers")


def test_plan_ids_can_not_be_guessed(shop: Shop) -> None:
    made = [each["plan_id"] for each in many("plan_migration", [{"changes": [NOTE]}] * 20)]
    bits = [int(each.removeprefix("plan_"), 16) for each in made]
    assert len(set(made)) == 20 and all(len(each) == 37 for each in made)
    for bit in range(128):  # each digit of each is drawn: the chance of a false alarm is 128 * 2 ** -19
        assert 0 < sum(number >> bit & 1 for number in bits) < 20


def test_storage_and_shop_may_be_of_different_kinds(
    database: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = "sqlite" if database.startswith("postgresql") else "postgresql"
    shop = a_shop(kind, request, tmp_path)
    monkeypatch.setenv("TOOLWORTHY_MIGRATE", shop.url)
    made = plan(NOTE)
    execute(made)
    assert execute(made)["executed_before"] is True and "note" in shop.columns("customers")


# --- when something fails --------------------------------------------------------------------------------------------


@contextmanager
def away(shop: Shop) -> Iterator[None]:
    """The database isn't there while this lasts."""
    if shop.kind == "sqlite":
        file = Path(sa.make_url(shop.url).database or "")
        elsewhere = file.rename(file.with_suffix(".away"))
        yield
        elsewhere.rename(file)
        return
    name = sa.make_url(shop.url).database
    elsewhere = Shop(sa.make_url(shop.url).set(database="postgres").render_as_string())
    elsewhere.sql(f"alter database {name} rename to {name}_away")
    yield
    elsewhere.sql(f"alter database {name}_away rename to {name}")


def test_a_database_that_is_away_is_transient_and_the_plan_lives_on(shop: Shop) -> None:
    made = plan(NOTE)
    with away(shop):
        for failure in (refused(made), fail(mcp, "inspect_schema", {}), no_plan(NOTE)):
            assert failure["errorCategory"] == "transient"
            assert failure["message"].startswith(("The database to migrate can't be reached", "The file of the"))
    assert execute(made)["executed_before"] is False and "note" in shop.columns("customers")


@pytest.mark.parametrize("held", ["writing", "reading"])
def test_a_busy_database_is_transient_and_the_plan_lives_on(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, held: str
) -> None:
    monkeypatch.setenv("TOOLWORTHY_TIME_LIMIT", "0.1")
    made = plan(NOTE)
    with shop.engine.connect() as other:
        if shop.kind == "sqlite" and held == "writing":
            other.exec_driver_sql("begin immediate")
        if held == "writing":
            other.exec_driver_sql("update customers set city = 'x'")
        else:
            if shop.kind == "sqlite":
                other.exec_driver_sql("begin")
            other.exec_driver_sql("select * from customers").fetchone()
        failure = refused(made)
        assert failure["errorCategory"] == "transient", failure
        other.rollback()
    assert "note" not in shop.columns("customers")
    assert execute(made)["executed_before"] is False


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)  # SQLite has no accounts
def test_an_account_that_may_not_is_a_matter_of_permission(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.sql(
        "drop role if exists reader",
        "create role reader login",
        "grant usage on schema public to reader",
        "grant select on all tables in schema public to reader",
    )
    reader = sa.make_url(shop.url).set(username="reader").render_as_string()
    monkeypatch.setenv("TOOLWORTHY_MIGRATE", reader)
    made = plan(NOTE)
    failure = refused(made)
    assert failure["errorCategory"] == "permission" and "must be owner" not in failure["message"]
    shop.sql("grant create on schema public to reader", "alter table customers owner to reader")
    # The grant changed no definition, so the same plan can be executed now.
    assert execute(made)["executed_before"] is False
    shop.sql("reassign owned by reader to me", "drop owned by reader", "drop role reader")


def test_without_storage_nothing_is_executed(shop: Shop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = plan(NOTE)
    before = shop.dump()
    with monkeypatch.context() as patched:
        patched.setenv("TOOLWORTHY_DATABASE", f"sqlite:///{tmp_path}")  # a folder
        assert refused(made)["errorCategory"] == "transient"
        assert no_plan(NOTE)["errorCategory"] == "transient"
    assert shop.dump() == before
    execute(made)


def test_without_a_clock_nothing_is_executed(served_world: World, shop: Shop) -> None:
    made = plan(NOTE)
    before = shop.dump()
    for answered in range(4):  # audit log, claim, expiry, and in the transaction
        for fault in [*[Slow(0)] * answered, Down()]:
            served_world.schedule("clock.now", fault)
        assert refused(made)["errorCategory"] == "transient"
        assert shop.dump() == before
    assert execute(made)["executed_before"] is False


@contextmanager
def proxy(shop: Shop, folder: Path) -> Iterator[tuple[str, Callable[[bytes, bool], None]]]:
    """A way to a PostgreSQL database: its URL, and a function that lets the connection break with the next message in
    which a word occurs, when that has arrived or before."""
    url, breaks = sa.make_url(shop.url), list[tuple[bytes, bool]]()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{folder}/.s.PGSQL.5432")
    listener.listen()

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                if breaks and breaks[0][0] in data:
                    _, arrives = breaks.pop()
                    source.shutdown(socket.SHUT_RDWR)  # no answer comes through from now on
                    if arrives:
                        sink.sendall(data)
                    break
                sink.sendall(data)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_WR)

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, database = listener.accept()[0], socket.socket(socket.AF_UNIX)
                database.connect(f"{url.query['host']}/.s.PGSQL.5432")
                for ends in ((client, database), (database, client)):
                    threading.Thread(target=pump, args=ends, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield url.set(query={"host": str(folder)}).render_as_string(), lambda word, arrives: breaks.append((word, arrives))
    listener.close()


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
@pytest.mark.parametrize("arrives", [False, True])
@pytest.mark.parametrize("word", [b"LOCK TABLE", b"DROP COLUMN"])
def test_a_connection_lost_before_the_commit_had_no_effect_and_the_plan_lives_on(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, word: bytes, arrives: bool
) -> None:
    with TemporaryDirectory() as folder, proxy(shop, Path(folder)) as (url, break_at):
        monkeypatch.setenv("TOOLWORTHY_MIGRATE", url)
        made, before = plan(NOTE, NO_FAX), shop.dump()
        break_at(word, arrives)
        assert refused(made)["errorCategory"] == "transient" and shop.dump() == before
        assert execute(made)["executed_before"] is False


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
@pytest.mark.parametrize("arrives", [False, True])
def test_a_connection_lost_in_the_commit_leaves_nobody_knowing_and_the_plan_is_not_run_again(
    shop: Shop, served_world: World, monkeypatch: pytest.MonkeyPatch, arrives: bool
) -> None:
    with TemporaryDirectory() as folder, proxy(shop, Path(folder)) as (url, break_at):
        monkeypatch.setenv("TOOLWORTHY_MIGRATE", url)
        made = plan(NOTE, NO_FAX)
        break_at(b"COMMIT", arrives)
        for _ in range(2):
            assert refused(made)["errorCategory"] == "transient"
        if arrives:
            wait_until(lambda: "note" in shop.columns("customers"))
        after = shop.dump()
        served_world.clock.advance(migrations.BUSY.total_seconds())
        for _ in range(2):
            failure = refused(made)
            assert failure["errorCategory"] == "business" and "inspect_schema" in failure["message"]
        assert shop.dump() == after and ("note" in shop.columns("customers")) is arrives


# --- killed in the middle --------------------------------------------------------------------------------------------


@contextmanager
def stuck(shop: Shop) -> Iterator[Callable[[], Any]]:
    """The next execution runs a statement and then waits, until this ends. Yields what says whether it has."""
    if shop.kind == "sqlite":
        with shop.engine.connect() as reader:  # a reader lets a writer write, and not commit
            reader.exec_driver_sql("begin")
            reader.exec_driver_sql("select * from customers").fetchone()
            yield Path(f"{sa.make_url(shop.url).database}-journal").exists
            reader.rollback()
        return
    shop.sql(
        "create function wait() returns event_trigger language plpgsql as $$ begin perform pg_sleep(60); end $$",
        "create event trigger wait on ddl_command_end when tag in ('ALTER TABLE') execute function wait()",
    )
    asleep = "select pid from pg_stat_activity where wait_event = 'PgSleep'"
    yield lambda: shop.sql(asleep)
    shop.sql(f"select pg_terminate_backend(pid) from ({asleep}) a")
    wait_until(lambda: not shop.sql(asleep))
    shop.sql("drop event trigger wait", "drop function wait()")


def wait_until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.01)


@contextmanager
def executing(made: Json, **env: str) -> Iterator[subprocess.Popen[str]]:
    """A server over stdio that was asked to execute a plan. It is killed, with -9, when this ends."""
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    asked: list[Json] = [
        {"id": 1, "method": "initialize", "params": opening},
        {"method": "notifications/initialized"},
        {
            "id": 2,
            "method": "tools/call",
            "params": {"name": "execute_plan", "arguments": {"plan_id": made["plan_id"]}},
        },
    ]
    process = subprocess.Popen(
        [sys.executable, str(FILE)], env=environment(**env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    try:
        for each in asked:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **each}) + "\n")
            process.stdin.flush()
        yield process
    finally:
        process.kill()
        process.communicate()


def the_environment(database: str, shop: Shop) -> dict[str, str]:
    return {
        "TOOLWORTHY_DATABASE": database, "TOOLWORTHY_MIGRATE": shop.url, "TOOLWORTHY_TIME_LIMIT": "30",
        "TOOLWORTHY_WORLD": os.environ["TOOLWORTHY_WORLD"],
    }  # fmt: skip


def test_killed_before_it_commits_nothing_happened_and_the_plan_is_not_run_again(
    database: str, shop: Shop, served_world: World
) -> None:
    env, made, before = the_environment(database, shop), plan(NOTE, NO_FAX), shop.dump()
    with stuck(shop) as in_the_middle, executing(made, **env):
        wait_until(in_the_middle)
    assert shop.dump() == before

    async def after_the_restart() -> None:
        transport = PythonStdioTransport(FILE, env=environment(**env), keep_alive=False)
        async with Client(transport, mode="legacy") as client:

            async def ask(tool: str, **arguments: Any) -> Json:
                return (await client.call_tool_mcp(tool, arguments)).structured_content or {}

            # At first it may still be running.
            assert (await ask("execute_plan", plan_id=made["plan_id"]))["errorCategory"] == "transient"
            served_world.clock.advance(migrations.BUSY.total_seconds())
            failure = await ask("execute_plan", plan_id=made["plan_id"])
            assert failure["errorCategory"] == "business" and "inspect_schema" in failure["message"]
            assert await ask("execute_plan", plan_id=made["plan_id"]) == failure and shop.dump() == before
            anew = await ask("plan_migration", changes=[NOTE, NO_FAX])
            assert anew["statements"] == made["statements"] and shop.dump() == before
            done = await ask("execute_plan", plan_id=anew["plan_id"])
            assert done["executed_before"] is False

    asyncio.run(after_the_restart())
    assert shop.columns("customers")[-1] == "note" and "fax_text" not in shop.columns("products")


def test_killed_after_it_committed_it_happened_and_the_plan_is_not_run_again(
    database: str, shop: Shop, served_world: World
) -> None:
    env, made = the_environment(database, shop), plan(NOTE, NO_FAX)
    store = Shop(database)
    claimed = f"select 1 from idempotency_keys where key = '{made['plan_id']}'"
    with shop.engine.connect() as holds_shop, store.engine.connect() as holds_store, executing(made, **env):
        holds_shop.exec_driver_sql("begin immediate" if shop.kind == "sqlite" else "lock table customers")
        wait_until(lambda: store.sql(claimed))
        holds_store.exec_driver_sql("begin immediate" if shop.kind == "sqlite" else "lock table idempotency_keys")
        holds_shop.rollback()
        wait_until(lambda: "note" in shop.columns("customers"))
    after = shop.dump()
    assert refused(made)["errorCategory"] == "transient"
    served_world.clock.advance(migrations.BUSY.total_seconds())
    for _ in range(2):
        assert refused(made)["errorCategory"] == "business"
    assert shop.dump() == after and "fax_text" not in shop.columns("products")


# --- as a whole ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_over_http_in_both_eras(database: str, shop: Shop) -> None:
    with http_server(FILE, TOOLWORTHY_DATABASE=database, TOOLWORTHY_MIGRATE=shop.url) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        for mode in ERAS:
            made = plan(NOTE | {"column": f"note_{mode}"}, target=url, mode=mode)
            assert call(url, "execute_plan", {"plan_id": made["plan_id"]}, mode)["executed_before"] is False
    assert shop.columns("customers")[-2:] == ["note_legacy", "note_auto"]


def test_hints_are_true(shop: Shop) -> None:
    def plans_stored() -> list[str]:
        with storage.reading() as connection:
            return sorted(map(str, connection.execute(sa.text("select * from migration_plans"))))

    call(mcp, "inspect_schema", {})
    made = plan(NOTE, NO_FAX)
    arguments: dict[str, Json] = {
        "inspect_schema": {}, "plan_migration": {"changes": [NO_FAX]}, "execute_plan": {"plan_id": made["plan_id"]},
    }  # fmt: skip
    tools = {tool.name: tool for tool in listed(mcp)}
    assert tools.keys() == arguments.keys()
    for name, tool in tools.items():
        before = shop.dump(), plans_stored()
        call(mcp, name, arguments[name])
        after = shop.dump(), plans_stored()
        call(mcp, name, arguments[name])
        hints = tool.annotations
        assert (before == after) is hints.read_only_hint, name
        assert ((shop.dump(), plans_stored()) == after) is hints.idempotent_hint, name
        kept = before[0] == after[0] and set(before[1]) <= set(after[1])
        assert kept is not hints.destructive_hint, name


def test_what_only_looks_can_not_write_even_if_it_tried(shop: Shop) -> None:
    before = shop.dump()
    for statement in ("delete from customers", "alter table customers add column x integer", "drop view open_orders"):
        with pytest.raises((DBAPIError, Forbidden)), migrations_database.connected() as connection:
            connection.exec_driver_sql(statement)
    assert shop.dump() == before


def test_every_call_is_in_the_audit_log_and_no_secret_is(shop: Shop) -> None:
    secret = "ghp_abcdefghijklmnopqrstuvwx"
    earlier = len(audit.lines())
    made = plan(NOTE | {"default": secret})
    no_plan(NOTE | {"table": "nothing"})
    no_plan(NOTE | {"password": "hunter2"})
    shop.sql("drop view open_orders")
    refused(made)
    execute(plan(NOTE))
    call(mcp, "inspect_schema", {})
    lines = audit.lines()[earlier:]
    assert [(line["tool"], line["outcome"], line["error_category"]) for line in lines] == [
        ("plan_migration", "begun", None), ("plan_migration", "done", None),
        ("plan_migration", "begun", None), ("plan_migration", "refused", "validation"),
        ("plan_migration", "begun", None), ("plan_migration", "refused", "validation"),
        ("execute_plan", "begun", None), ("execute_plan", "refused", "business"),
        ("plan_migration", "begun", None), ("plan_migration", "done", None),
        ("execute_plan", "begun", None), ("execute_plan", "done", None),
        ("inspect_schema", "done", None),
    ]  # fmt: skip
    assert lines[1]["arguments"]["changes"][0]["table"] == "customers"
    assert lines[6]["arguments"] == {"plan_id": made["plan_id"]} and lines[1]["summary"]["plan_id"] == made["plan_id"]
    assert secret not in str(lines) and "hunter2" not in str(lines)


def test_the_checklist_has_nothing_to_say_about_the_rest() -> None:
    report = asyncio.run(audit_rules(mcp))
    found = {(finding.rule, finding.tool) for finding in report.findings if finding.verdict == "violation"}
    # The course's own name for this step, which the rule takes for a vague one.
    assert found <= {("name-vague", "execute_plan")}


# --- which database --------------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("TOOLWORTHY_MIGRATE", raising=False)
    monkeypatch.setenv("TOOLWORTHY_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_without_another_there_is_a_sample_beside_the_servers_own_database(database: str, home: Path) -> None:
    folder = home if database.startswith("postgresql") else home.parent
    folder.mkdir(exist_ok=True)
    with (
        closing(sqlite3.connect(folder / "sample_shop.db", isolation_level=None)) as other,
        ThreadPoolExecutor() as pool,
    ):
        other.execute("begin immediate")  # so that all of them find it empty
        asked = pool.submit(many, "inspect_schema", [{}] * 8)
        time.sleep(0.5)
        other.execute("rollback")
        found = asked.result()
    assert all(each == found[0] for each in found)
    assert {table["name"]: table["rows"] for table in found[0]["tables"]} == {"customers": 4, "order": 3, "products": 3}
    execute(plan(NO_FAX))
    assert "fax_text" not in str(call(mcp, "inspect_schema", {})), "it was made again"
    assert [file.name for file in folder.glob("*shop*")] == ["sample_shop.db"]


def test_looking_leaves_no_trace_in_a_sqlite_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = a_shop("sqlite", None, tmp_path)  # type: ignore[arg-type]
    monkeypatch.setenv("TOOLWORTHY_DATABASE", f"sqlite:///{tmp_path / 'servers.db'}")
    monkeypatch.setenv("TOOLWORTHY_MIGRATE", shop.url)
    before = (tmp_path / "shop.db").read_bytes()
    call(mcp, "inspect_schema", {})
    plan(NO_FAX)
    assert (tmp_path / "shop.db").read_bytes() == before
    assert sorted(file.name for file in tmp_path.glob("shop*")) == ["shop.db"]


def test_the_servers_own_database_is_not_migrated(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.check()
    monkeypatch.setenv("TOOLWORTHY_MIGRATE", database)
    drop = {"change": "drop_column", "table": "audit_log", "column": "summary"}
    for failure in (fail(mcp, "inspect_schema", {}), no_plan(drop)):
        assert failure["errorCategory"] == "permission" and "audit log" in failure["message"]
    assert audit.lines()


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgresql+psycopg://me:geheim@127.0.0.1:1/none?sslpassword=geheim", "//me:***@127.0.0.1:1/none, can't"),
        ("sqlite:///{folder}/none.db", "isn't there"), ("sqlite://", "isn't there"),
        ("mysql://me:geheim@host/none", "SQLite or a PostgreSQL"), ("geheim", "must be a URL"),
        ("sqlite:///{folder}/text.db", "not a database"), ("nosql://me:geheim@host/none", "SQLite or a PostgreSQL"),
        ("sqlite:///{folder}/servers.db", "audit log"),
    ],
)  # fmt: skip
def test_a_database_that_can_not_be_used_is_one_sentence_without_a_password(
    tmp_path: Path, url: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "text.db").write_text("This is no database." * 100)
    monkeypatch.setenv("TOOLWORTHY_DATABASE", f"sqlite:///{tmp_path / 'servers.db'}")
    monkeypatch.setenv("TOOLWORTHY_MIGRATE", url.format(folder=tmp_path))
    storage.check()
    with pytest.raises(ValueError, match=r"TOOLWORTHY_MIGRATE|PostgreSQL") as stopped:
        migrations_database.check()
    text = str(stopped.value)
    assert says in text and "geheim" not in text and "\n" not in text
    assert not (tmp_path / "none.db").exists()


def test_without_its_database_it_does_not_start(tmp_path: Path) -> None:
    own = f"sqlite:///{tmp_path / 'servers.db'}"
    url = "postgresql+psycopg://me:geheim@127.0.0.1:1/none"
    done = run_server(FILE, TOOLWORTHY_DATABASE=own, TOOLWORTHY_MIGRATE=url)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "set TOOLWORTHY_MIGRATE" in done.stderr and "geheim" not in done.stderr


def test_help_names_both_databases() -> None:
    text = " ".join(run_server(FILE, "--help").stdout.split())
    assert "TOOLWORTHY_DATABASE" in text and "TOOLWORTHY_MIGRATE" in text
