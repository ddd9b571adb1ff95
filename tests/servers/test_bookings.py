"""Tables: four categories of failure by real calls, one booking for each key, and no table for two guests."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from servers.backends import audit, keys, storage
from servers.backends.world import Down, Fault, RateLimited, Slow, TimesOut, World, ask
from servers.bookings import mcp
from tests.servers.calling import Json, call, fail, listed
from tests.servers.running import ERAS, SERVERS, Mode, environment, http_server, run_server
from toolworthy import audit as check

BOOK = {
    "branch": "hanoi-lake", "area": "hall", "date": "2026-12-05", "time": "19:00", "party_size": 4,
    "guest_name": "Trần Bình", "idempotency_key": "booking-4711",
}  # fmt: skip
FIND = {name: BOOK[name] for name in ("branch", "date", "time", "party_size")}
FULL = FIND | {"area": "terrace"}  # both tables of the terrace are taken then
FILE = SERVERS / "bookings.py"
CALLS: dict[str, Json] = {
    "list_branches": {}, "find_tables": FIND, "book_table": BOOK, "cancel_booking": {"booking_id": "BKG-00000000"},
}  # fmt: skip
OPERATIONS = dict(
    zip(CALLS, ("bookings.branches", "bookings.free_tables", "bookings.book", "bookings.cancel"), strict=True)
)


@pytest.fixture(autouse=True)
def _surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain account, and a SQLite file; tests about keys take `database`, which is of both kinds."""
    monkeypatch.delenv("TOOLWORTHY_BOOKING_ACCOUNT", raising=False)
    monkeypatch.setenv("TOOLWORTHY_DATABASE", f"sqlite:///{tmp_path / 'plain.db'}")


def effects(world: World) -> list[str]:
    return [entry.operation for entry in world.ledger if entry.effect]


def other(number: int, **change: Any) -> Json:
    """Another guest's call."""
    return BOOK | {"guest_name": f"Guest {number}", "idempotency_key": f"booking-{number:04}"} | change


async def together(target: Any, tool: str, calls: list[Json]) -> list[Any]:
    async with Client(target) as client:
        return await asyncio.gather(*(client.call_tool(tool, each, raise_on_error=False) for each in calls))


# --- what it is for --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ERAS)
def test_from_a_branch_to_a_booking_and_back(world: World, mode: Mode) -> None:
    branch = call(mcp, "list_branches", {}, mode)["branches"][0]
    assert (branch["branch"], branch["timezone"]) == ("hanoi-lake", "Asia/Ho_Chi_Minh")
    assert {area["area"]: area["bookable"] for area in branch["areas"]} == {"hall": True, "terrace": True, "vip": False}

    found = call(mcp, "find_tables", FIND, mode)
    assert [(table["table_id"], table["seats"]) for table in found["tables"]] == [
        ("hall-2", 4), ("hall-3", 4), ("hall-4", 6), ("hall-5", 8), ("hall-6", 20),
    ]  # fmt: skip
    assert (found["starts_at"], found["nearest_free_times"]) == ("2026-12-05T19:00:00+07:00", [])

    booked = call(mcp, "book_table", BOOK, mode)
    assert booked | {"booking_id": ""} == {
        "booking_id": "", "branch": "hanoi-lake", "area": "hall", "table_id": "hall-2", "seats": 4,
        "starts_at": "2026-12-05T19:00:00+07:00", "ends_at": "2026-12-05T21:00:00+07:00", "party_size": 4,
        "guest_name": "Trần Bình", "state": "booked",
    }  # fmt: skip
    assert "hall-2" not in str(call(mcp, "find_tables", FIND, mode)["tables"])

    gone = call(mcp, "cancel_booking", {"booking_id": booked["booking_id"]}, mode)
    assert gone == booked | {"state": "cancelled", "already_cancelled": False}
    assert call(mcp, "find_tables", FIND, mode) == found
    assert effects(world) == ["bookings.book", "bookings.cancel"]


def test_a_second_cancel_says_already_cancelled(world: World) -> None:
    booking = {"booking_id": call(mcp, "book_table", BOOK)["booking_id"]}
    first, second = call(mcp, "cancel_booking", booking), call(mcp, "cancel_booking", booking)
    assert second == first | {"already_cancelled": True}
    assert effects(world) == ["bookings.book", "bookings.cancel"]


def test_a_table_is_free_again_when_the_one_before_ends(world: World) -> None:
    small = BOOK | {"branch": "hanoi-station", "party_size": 6}  # the only table for six
    call(mcp, "book_table", small)
    find = {name: small[name] for name in FIND}
    for at, free in {"17:30": False, "20:30": False, "17:00": True, "21:00": True}.items():
        assert bool(call(mcp, "find_tables", find | {"time": at})["tables"]) is free
    for number, at in enumerate(("17:30", "20:30")):
        assert fail(mcp, "book_table", other(number, **find | {"time": at}))["errorCategory"] == "business"


def test_all_days_and_times_are_those_of_the_branch(world: World) -> None:
    # It is 19:00 in Hanoi, 13:00 in Lagos and 07:00 in Lima.
    late = {"date": "2026-11-30", "time": "19:00"}
    assert fail(mcp, "find_tables", FIND | late)["errorCategory"] == "validation"
    for branch, offset in (("lima-port", "-05:00"), ("lagos-island", "+01:00")):
        assert call(mcp, "find_tables", FIND | late | {"branch": branch})["starts_at"].endswith(offset)
    assert call(mcp, "find_tables", FIND | late | {"time": "19:30"})["tables"]


# --- four categories, and no category at all -------------------------------------------------------------------------


def test_no_free_table_is_an_answer_and_a_lost_connection_is_not(world: World) -> None:
    found = call(mcp, "find_tables", FULL)
    assert (found["tables"], found["nearest_free_times"]) == ([], ["17:00", "16:30", "16:00"])
    assert "complete answer, not an error" in found["note"]
    world.schedule("bookings.free_tables", Down())
    failure = fail(mcp, "find_tables", FULL)
    assert failure["errorCategory"] == "transient" and "tables" not in failure


def test_twenty_guests_can_be_booked_online(world: World) -> None:
    assert call(mcp, "book_table", BOOK | {"party_size": 20})["seats"] == 20


def test_a_time_that_was_suggested_can_be_booked(world: World) -> None:
    refusal = fail(mcp, "book_table", BOOK | {"area": "terrace"})
    assert refusal["errorCategory"] == "business" and "Nothing was booked" in refusal["message"]
    assert refusal["suggestions"] == call(mcp, "find_tables", FULL)["nearest_free_times"]
    # With the same key: nothing was booked under it.
    assert call(mcp, "book_table", BOOK | {"area": "terrace", "time": refusal["suggestions"][0]})["area"] == "terrace"


@pytest.mark.parametrize(
    ("change", "category", "says", "suggestions"),
    [
        ({"party_size": 21}, "business", "private room: +84 24 555 0110", None),
        ({"party_size": 21, "branch": "lima-port"}, "business", "private room: +51 1 555 0130", None),
        ({"party_size": 5, "area": "terrace"}, "business", "4 seats", ["hall"]),
        ({"branch": "hanoi-station", "date": "2026-12-07"}, "business", "closed on Mondays", ["2026-12-08"]),
        ({"time": "10:30"}, "business", "between 11:00 and 20:30", ["11:00"]),
        ({"time": "23:00"}, "business", "between 11:00 and 20:30", ["20:30"]),
        ({"date": "2027-01-30"}, "business", "until 2027-01-29", ["2027-01-29"]),
        ({"date": "9999-12-31"}, "business", "until 2027-01-29", ["2027-01-29"]),
        ({"date": "2026-11-29"}, "validation", "is over", None),
        ({"date": "0001-01-01"}, "validation", "is over", None),
        ({"date": "2026-11-30", "time": "18:30"}, "validation", "it is 2026-11-30 19:00", None),
        ({"branch": "hanoi-moon"}, "validation", "There are: hanoi-lake, hanoi-station", None),
        ({"branch": "hanoi-station", "area": "terrace"}, "validation", "It has: hall", ["hall"]),
        ({"area": "vip"}, "permission", "Offer another area", ["hall", "terrace"]),
    ],
)  # fmt: skip
def test_what_is_refused_says_what_to_do_instead_and_books_nothing(
    world: World, change: Json, category: str, says: str, suggestions: list[str] | None
) -> None:
    for tool in ("find_tables", "book_table"):
        arguments = BOOK | {"area": "hall"} | change
        if tool == "find_tables":
            arguments = {name: arguments[name] for name in (*FIND, "area")}
        failure = fail(mcp, tool, arguments)
        assert failure["errorCategory"] == category and says in failure["message"]
        if suggestions is not None:
            assert failure["suggestions"] == suggestions
    assert effects(world) == []


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"date": "31/11/2026"}, "date"), ({"date": "2026-11-31"}, "date"), ({"date": "next Friday"}, "date"),
        ({"date": 20261205}, "date"), ({"time": "19:15"}, "time"), ({"time": "7pm"}, "time"),
        ({"time": "24:00"}, "time"),
        ({"party_size": 0}, "party_size"), ({"party_size": 501}, "party_size"), ({"party_size": "4"}, "party_size"),
        ({"area": "VIP"}, "area"), ({"branch": "Hanoi"}, "branch"), ({"branch": "hanoi-lake\n"}, "branch"),
        ({"guest_name": " "}, "guest_name"), ({"guest_name": "a\x00b"}, "guest_name"),
        ({"guest_name": "x" * 101}, "guest_name"), ({"idempotency_key": "short"}, "idempotency_key"),
        ({"guest_phone": "+84 24 555 0199"}, "guest_phone"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named_and_nobody_outside_is_asked(world: World, change: Json, field: str) -> None:
    failure = fail(mcp, "book_table", BOOK | change)
    assert failure["errorCategory"] == "validation"
    assert [problem["field"] for problem in failure["problems"]] == [field]
    assert world.ledger == ()


def test_the_account_decides_about_the_vip_area(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    vip = BOOK | {"area": "vip"}
    assert fail(mcp, "book_table", vip)["errorCategory"] == "permission"
    assert {table["area"] for table in call(mcp, "find_tables", FIND)["tables"]} == {"hall"}
    monkeypatch.setenv("TOOLWORTHY_BOOKING_ACCOUNT", "concierge")
    assert call(mcp, "list_branches", {})["branches"][0]["areas"][2]["bookable"] is True
    assert "vip-1" in str(call(mcp, "find_tables", FIND)["tables"])
    booking = {"booking_id": call(mcp, "book_table", vip)["booking_id"]}

    monkeypatch.delenv("TOOLWORTHY_BOOKING_ACCOUNT")
    failure = fail(mcp, "cancel_booking", booking)
    assert failure["errorCategory"] == "permission" and "+84 24 555 0110" in failure["message"]
    assert effects(world) == ["bookings.book"]

    monkeypatch.setenv("TOOLWORTHY_BOOKING_ACCOUNT", "nobody")
    for tool, arguments in CALLS.items():
        assert fail(mcp, tool, arguments)["errorCategory"] == "permission"


def test_what_cannot_be_cancelled_is_said(served_world: World) -> None:
    failure = fail(mcp, "cancel_booking", {"booking_id": "BKG-00000000"})
    assert failure["errorCategory"] == "validation" and "There is no booking" in failure["message"]
    booking = {"booking_id": call(mcp, "book_table", BOOK)["booking_id"]}
    served_world.clock.advance(5 * 24 * 3600)  # Hanoi: 19:00 on the day of the booking
    failure = fail(mcp, "cancel_booking", booking)
    assert failure["errorCategory"] == "business" and "+84 24 555 0110" in failure["message"]
    assert effects(served_world) == ["bookings.book"]


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize(
    "fault", [Down(), RateLimited(7), TimesOut(), TimesOut(after_effect=True), Slow(9)], ids=lambda fault: str(fault)
)
def test_an_outage_is_transient_and_the_same_call_works_afterwards(
    world: World, monkeypatch: pytest.MonkeyPatch, tool: str, fault: Fault
) -> None:
    monkeypatch.setenv("TOOLWORTHY_TIME_LIMIT", "0.1")
    arguments = CALLS[tool]
    if tool == "cancel_booking":
        arguments = {"booking_id": call(mcp, "book_table", BOOK)["booking_id"]}
    world.schedule(OPERATIONS[tool], fault)
    failure = fail(mcp, tool, arguments)
    assert failure["errorCategory"] == "transient" and "unchanged" in failure["message"]
    assert failure.get("retryAfterSeconds") == (7 if isinstance(fault, RateLimited) else None)
    call(mcp, tool, arguments)
    assert Counter(effects(world))[OPERATIONS[tool]] == (tool in ("book_table", "cancel_booking"))


def test_a_slow_answer_within_the_limit_is_an_answer(world: World) -> None:
    world.schedule("bookings.book", Slow(0.05))
    assert call(mcp, "book_table", BOOK)["state"] == "booked"


# --- once ------------------------------------------------------------------------------------------------------------


def test_the_same_call_again_gets_the_same_booking(database: str, world: World) -> None:
    first = call(mcp, "book_table", BOOK)
    assert call(mcp, "book_table", BOOK) == first
    assert effects(world) == ["bookings.book"]


@pytest.mark.parametrize(
    "change", [{"time": "17:00"}, {"party_size": 2}, {"guest_name": "Ana"}, {"area": "terrace"}, {"date": "2026-12-06"},
               {"branch": "lima-port"}, {"party_size": 21}],
)  # fmt: skip
def test_a_key_under_which_something_was_booked_is_refused_with_other_arguments(world: World, change: Json) -> None:
    first = call(mcp, "book_table", BOOK)
    failure = fail(mcp, "book_table", BOOK | change)
    assert failure["errorCategory"] == "business"
    assert first["booking_id"] in failure["message"] and "new key" in failure["message"]
    assert effects(world) == ["bookings.book"]


def test_a_key_under_which_nothing_was_booked_can_be_used_with_other_arguments(database: str, world: World) -> None:
    for change in ({"area": "vip"}, {"party_size": 21}, {"date": "2026-11-29"}, {"branch": "hanoi-moon"}):
        fail(mcp, "book_table", BOOK | change)
    assert call(mcp, "book_table", BOOK)["state"] == "booked"
    assert effects(world) == ["bookings.book"]


def test_a_booking_that_was_cancelled_is_not_called_booked_and_not_made_again(database: str, world: World) -> None:
    booking = {"booking_id": call(mcp, "book_table", BOOK)["booking_id"]}
    call(mcp, "cancel_booking", booking)
    failure = fail(mcp, "book_table", BOOK)
    assert failure["errorCategory"] == "business" and "cancelled since" in failure["message"]
    assert call(mcp, "book_table", BOOK | {"idempotency_key": "booking-4712"})["booking_id"] != booking["booking_id"]
    assert effects(world) == ["bookings.book", "bookings.cancel", "bookings.book"]


def test_a_repetition_gets_its_booking_even_after_the_evening(served_world: World) -> None:
    tonight = BOOK | {"date": "2026-11-30", "time": "19:30"}
    first = call(mcp, "book_table", tonight)
    served_world.clock.advance(3600)
    assert call(mcp, "book_table", tonight) == first
    assert fail(mcp, "book_table", tonight | {"idempotency_key": "booking-4712"})["errorCategory"] == "validation"


def test_a_key_is_forgotten_after_its_lifetime(database: str, served_world: World) -> None:
    first = call(mcp, "book_table", BOOK)
    served_world.clock.advance(keys.LIFETIME.total_seconds())
    assert call(mcp, "book_table", BOOK)["table_id"] != first["table_id"]


def test_the_same_call_many_times_at_once_is_one_booking(database: str, served_world: World) -> None:
    results = asyncio.run(together(mcp, "book_table", [BOOK] * 30))
    assert not any(result.is_error for result in results)
    assert len({str(result.structured_content) for result in results}) == 1
    assert effects(served_world) == ["bookings.book"]


def test_different_calls_at_once_under_one_key_are_one_booking(database: str, served_world: World) -> None:
    times = [f"{hour}:{minute}" for hour in range(12, 20) for minute in ("00", "30")]
    results = asyncio.run(together(mcp, "book_table", [BOOK | {"time": each} for each in times]))
    assert [result.is_error for result in results].count(False) == 1
    refused = {result.structured_content["errorCategory"] for result in results if result.is_error}
    assert refused == {"business"} and effects(served_world) == ["bookings.book"]


def test_guests_who_want_the_last_tables_at_once_never_share_one(served_world: World) -> None:
    results = asyncio.run(together(mcp, "book_table", [other(number) for number in range(20)]))
    got = [result.structured_content for result in results if not result.is_error]
    refused = [result.structured_content for result in results if result.is_error]
    assert Counter(each["table_id"] for each in got) == Counter(f"hall-{number}" for number in range(2, 7))
    assert {each["errorCategory"] for each in refused} == {"business"} and len(refused) == 15
    assert effects(served_world) == ["bookings.book"] * 5


# --- hints, audit log, audit -----------------------------------------------------------------------------------------


def state() -> Any:
    """Everything outside and everything stored that isn't a log: what is free at every branch, all keys."""
    free = [
        ask("bookings.free_tables", **FIND | {"branch": each["branch"], "party_size": 1}, account="concierge")
        for each in ask("bookings.branches")
    ]
    known = storage.metadata.tables["idempotency_keys"].c
    with storage.reading() as connection:
        return free, sorted(map(str, connection.execute(sa.select(known.tool, known.key, known.reference))))


def test_hints_are_true(world: World) -> None:
    kept = call(mcp, "book_table", other(1))
    mine = call(mcp, "book_table", other(2))
    calls = CALLS | {"cancel_booking": {"booking_id": mine["booking_id"]}}
    tools = {tool.name: tool.annotations for tool in listed(mcp)}
    assert tools.keys() == calls.keys()
    for name, hints in tools.items():
        asked = len(world.ledger)
        before = state()
        call(mcp, name, calls[name])
        after = state()
        assert (after == before) is hints.read_only_hint, name
        assert any(entry.operation == OPERATIONS[name] for entry in world.ledger[asked:]) is hints.open_world_hint
        call(mcp, name, calls[name])
        assert (state() == after) is hints.idempotent_hint, name
        still = call(mcp, "book_table", other(1)) == kept and not fails(mcp, other(2))
        assert still is not hints.destructive_hint, name


def fails(target: Any, arguments: Json) -> bool:
    (result,) = asyncio.run(together(target, "book_table", [arguments]))
    return bool(result.is_error)


def test_calls_refusals_and_failures_are_in_the_audit_log_and_secrets_are_not(world: World) -> None:
    world.schedule("bookings.book", Down())
    fail(mcp, "book_table", BOOK)
    booking = {"booking_id": call(mcp, "book_table", BOOK)["booking_id"]}
    fail(mcp, "book_table", BOOK | {"area": "vip", "idempotency_key": "booking-4712"})
    fail(mcp, "book_table", BOOK | {"date": "31/11/2026", "password": "hunter2"})
    call(mcp, "find_tables", FULL)
    call(mcp, "cancel_booking", booking)
    lines = [(line["tool"], line["outcome"], line["error_category"]) for line in audit.lines()]
    assert lines == [
        ("book_table", "begun", None), ("book_table", "failed", "transient"),
        ("book_table", "begun", None), ("book_table", "done", None),
        ("book_table", "begun", None), ("book_table", "refused", "permission"),
        ("book_table", "begun", None), ("book_table", "refused", "validation"),
        ("find_tables", "done", None),
        ("cancel_booking", "begun", None), ("cancel_booking", "done", None),
    ]  # fmt: skip
    assert audit.lines("book_table")[3]["summary"]["booking_id"] == booking["booking_id"]
    assert "hunter2" not in str(audit.lines())


def test_it_keeps_the_checklist() -> None:
    report = asyncio.run(check(mcp))
    assert str(report).startswith("no violations in 4 tools")


# --- as a process ----------------------------------------------------------------------------------------------------


def test_it_says_what_it_needs_and_which_account_cannot_be(tmp_path: Path) -> None:
    home = {"TOOLWORTHY_HOME": str(tmp_path)}
    assert "TOOLWORTHY_BOOKING_ACCOUNT" in run_server(FILE, "--help", **home).stdout
    done = run_server(FILE, **home, TOOLWORTHY_BOOKING_ACCOUNT="Not a name")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_over_http(served_world: World) -> None:
    more = {name: os.environ[name] for name in ("TOOLWORTHY_DATABASE", "TOOLWORTHY_WORLD")}
    with http_server(FILE, **more) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        answers = [call(url, "book_table", BOOK, mode) for mode in ERAS]
        assert answers[0] == answers[1]
        for mode in ERAS:
            assert fail(url, "book_table", other(1, area="vip"), mode)["errorCategory"] == "permission"
    assert effects(served_world) == ["bookings.book"]


# Runs a server file and tells its process id, so that it can be killed.
KILLABLE = "import os, pathlib, runpy, sys; pathlib.Path(sys.argv.pop()).write_text(str(os.getpid())); " + (
    "runpy.run_path(sys.argv.pop(), run_name='__main__')"
)


def test_over_stdio_a_server_killed_while_the_answer_is_lost_has_booked_once(
    database: str, served_world: World, tmp_path: Path
) -> None:
    pid, more = tmp_path / "pid", {"TOOLWORTHY_WORLD": os.environ["TOOLWORTHY_WORLD"], "TOOLWORTHY_TIME_LIMIT": "60"}

    def server() -> StdioTransport:
        env = environment(TOOLWORTHY_DATABASE=database, **more)
        return StdioTransport(sys.executable, ["-c", KILLABLE, str(FILE), str(pid)], env=env, keep_alive=False)

    def kill_when_booked() -> None:
        deadline = time.monotonic() + 30
        while not served_world.ledger and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(int(pid.read_text()), getattr(signal, "SIGKILL", signal.SIGTERM))

    async def call_and_kill() -> list[Any]:
        async with Client(server(), mode="legacy") as client:
            pending = client.call_tool("book_table", BOOK)
            return await asyncio.gather(pending, asyncio.to_thread(kill_when_booked), return_exceptions=True)

    served_world.schedule("bookings.book", TimesOut(after_effect=True))
    no_answer, killed = asyncio.run(call_and_kill())
    assert isinstance(no_answer, Exception) and killed is None
    (lost,) = served_world.ledger
    assert lost.outcome == "answer lost" and lost.effect
    assert call(server(), "book_table", BOOK)["booking_id"] == lost.answer["booking_id"]
    assert effects(served_world) == ["bookings.book"]
    assert [line["outcome"] for line in audit.lines("book_table")] == ["begun", "begun", "done"]
