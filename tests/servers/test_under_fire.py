"""Servers that write, under parallel repetition and `kill -9`: one effect for each key, and one answer.

TOOLWORTHY_SOAK (set by `make soak`) runs ten times as many rounds of the same.
"""

from __future__ import annotations

import asyncio
import os
import random
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client

from servers.backends.world import Slow, World
from tests.servers.calling import Json
from tests.servers.conftest import new_database
from tests.servers.running import SERVERS, environment, http_server, listens

ROUNDS = 200 if os.environ.get("TOOLWORTHY_SOAK") else 20
PARALLEL = 200
CHARGE = {"customer_id": "cus_binh", "amount_minor": 1999, "currency": "EUR", "idempotency_key": "order-4711"}
ISSUE = {"repo": "acme/web-shop", "title": "Login fails", "idempotency_key": "report-4711", "labels": ["bug"]}


async def storm(ports: list[int], tool: str, arguments: Json) -> list[Any]:
    """PARALLEL identical calls, spread over the servers, all at once."""
    clients = [Client(f"http://127.0.0.1:{port}/mcp") for port in ports]
    for client in clients:
        await client.__aenter__()
    try:
        calls = [clients[n % len(clients)].call_tool(tool, arguments, raise_on_error=False) for n in range(PARALLEL)]
        return await asyncio.gather(*calls)
    finally:
        for client in clients:
            await client.__aexit__(None, None, None)


def fleet(stack: ExitStack, server: str, count: int, **more: str) -> list[int]:
    return [stack.enter_context(http_server(SERVERS / f"{server}.py", **more)) for _ in range(count)]


@pytest.fixture(params=["SQLite, one process", "PostgreSQL, four processes"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, int]:
    """A database's URL, and how many processes share it."""
    if request.param.startswith("SQLite"):
        return f"sqlite:///{tmp_path / 'servers.db'}", 1
    return new_database(request.getfixturevalue("postgres")), 4


def test_many_charges_at_once_under_one_key_are_one_charge(stored: tuple[str, int]) -> None:
    url, processes = stored
    world = World()
    with ExitStack() as stack:
        address = stack.enter_context(world.serve())
        ports = fleet(stack, "payments", processes, TOOLWORTHY_DATABASE=url, TOOLWORTHY_WORLD=address)
        results = asyncio.run(storm(ports, "charge_payment", CHARGE))
    assert Counter(result.is_error for result in results) == {False: PARALLEL}
    assert len({str(result.structured_content) for result in results}) == 1
    assert [entry.answer for entry in world.ledger if entry.effect] == [
        results[0].structured_content | {"created_at": world.clock.now.isoformat()}
    ]


def test_many_creations_at_once_under_one_key_are_one_issue(stored: tuple[str, int]) -> None:
    url, processes = stored
    with ExitStack() as stack:
        ports = fleet(stack, "issues", processes, TOOLWORTHY_DATABASE=url)
        results = asyncio.run(storm(ports, "create_issue", ISSUE))
        assert Counter(result.is_error for result in results) == {False: PARALLEL}
        assert len({str(result.structured_content["issue"]) for result in results}) == 1
        assert [result.structured_content["created"] for result in results].count(True) == 1
        listed = asyncio.run(one(ports[0], "list_issues", {"repo": "acme/web-shop"}))
        assert len(listed["items"]) == 1


async def one(port: int, tool: str, arguments: Json) -> Json:
    async with Client(f"http://127.0.0.1:{port}/mcp") as client:
        result = await client.call_tool(tool, arguments)
        assert result.structured_content is not None
        return result.structured_content


# --- kill -9 ---------------------------------------------------------------------------------------------------------


@contextmanager
def process(server: Path, port: int, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server that serves when this yields, and that may be killed meanwhile."""
    started = subprocess.Popen(
        [sys.executable, str(server), "--http", str(port)],
        env=environment(**more),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert listens(port, started), "the server ended by itself, or never listened"
        yield started
    finally:
        started.kill()
        started.wait()


async def calls_until_killed(
    port: int, calls: list[Json], victim: subprocess.Popen[bytes], seconds: float
) -> list[Json | None]:
    """Charge in parallel and kill the server meanwhile; each answer, or None where none came."""

    async def attempt(client: Client[Any], arguments: Json) -> Json | None:
        try:
            return (await client.call_tool("charge_payment", arguments, timeout=10)).structured_content
        except Exception:  # whatever a client makes of a server that is gone
            return None

    async def kill() -> None:
        await asyncio.sleep(seconds)
        victim.kill()

    client = Client(f"http://127.0.0.1:{port}/mcp")
    await client.__aenter__()
    try:
        *answers, _ = await asyncio.gather(*(attempt(client, arguments) for arguments in calls), kill())
        return answers
    finally:
        with suppress(Exception):
            await client.__aexit__(None, None, None)


@dataclass
class Fire:
    """What came of charging under `kill -9`. Every intention has an amount of its own, which tells them apart."""

    charged: Counter[int]  # amount → how often it was charged
    cut_off: int = 0  # charged, and the server killed before it answered
    contradictions: int = 0  # intentions with two different answers


def fire(server: Path, call_for: Callable[[int], Json], rounds: int, **more: str) -> Fire:
    """Kill a server in the middle of charges and start it again, `rounds` times; whoever got no answer tries again."""
    world = World()
    world.schedule("payments.charge", Slow(0.03), times=100_000)  # charged at once, answered late: killed in between
    found, answers = Fire(Counter()), dict[int, Any]()
    with world.serve() as address, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        for number in range(rounds + 1):
            with process(server, port, TOOLWORTHY_WORLD=address, **more) as victim:
                for amount, answer in answers.items():
                    if answer is None or "idempotency_key" in call_for(amount):
                        again = asyncio.run(one(port, "charge_payment", call_for(amount)))
                        found.contradictions += answer is not None and again != answer
                if number == rounds:
                    break
                amounts = range(1000 * (number + 1), 1000 * (number + 1) + 600, 100)
                delay = random.Random(number).uniform(0.0, 0.25)
                got = asyncio.run(calls_until_killed(port, [call_for(a) for a in amounts], victim, delay))
                answers = dict(zip(amounts, got, strict=True))
                charged = effects(world)
                found.cut_off += sum(answer is None and charged[amount] > 0 for amount, answer in answers.items())
    found.charged = effects(world)
    return found


def effects(world: World) -> Counter[int]:
    return Counter(entry.arguments["amount_minor"] for entry in world.ledger if entry.effect)


def with_key(amount: int) -> Json:
    return {"customer_id": "cus_binh", "amount_minor": amount, "currency": "VND", "idempotency_key": f"order-{amount}"}


def without_key(amount: int) -> Json:
    return {"customer_id": "cus_binh", "amount": amount / 100, "currency": "VND"}


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_a_server_killed_in_the_middle_of_charges_charges_once_and_loses_none(database: str) -> None:
    found = fire(SERVERS / "payments.py", with_key, ROUNDS, TOOLWORTHY_DATABASE=database)
    assert len(found.charged) == 6 * ROUNDS and set(found.charged.values()) == {1}
    assert found.contradictions == 0
    assert found.cut_off > 0, "no call was ever cut off between charge and answer: this test has not tested anything"


def test_the_same_fire_makes_the_careless_twin_charge_twice() -> None:
    found = fire(SERVERS / "broken" / "charge.py", without_key, 5)
    assert found.cut_off > 0 and max(found.charged.values()) > 1
