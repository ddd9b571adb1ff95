"""Every tool of every server, called with what its schema allows and with what it forbids, while things fail.

Whatever is sent and whatever fails: an answer comes, it has the shape that was promised, nothing planted is in it, and
what the schema forbids has no effect. TOOLWORTHY_SOAK (set by `make soak`) makes ten times as many calls.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import mcp_types
import pytest
import sqlalchemy as sa
from jsonschema import Draft202012Validator, FormatChecker

from servers.backends import audit, storage
from servers.backends.world import Down, RateLimited, Slow, TimesOut, World
from tests.servers import catalog
from tests.servers.running import environment, http_server
from toolworthy import Subject, connect
from toolworthy.generating import invalid_calls, valid_calls

CALLS = 2000 if os.environ.get("TOOLWORTHY_SOAK") else 200
CANARY = "canary-5ecret-91f0"
FAULTS = (Down(), RateLimited(3), TimesOut(), TimesOut(after_effect=True), Slow(0.001))
CATEGORIES = {"transient", "validation", "business", "permission"}
# What exists on the other side, where no reading tool tells it.
KNOWN: dict[str, dict[str, list[Any]]] = {
    "issues": {"repo": ["acme/web-shop", "acme/billing"]},
    "payments": {"customer_id": ["cus_ana", "cus_binh", "cus_nobody"], "payment_id": ["pay_1001", "pay_1002"]},
    "shop": {"customer_id": ["CUS-1001"]},
    "bookings": {
        "branch": ["hanoi-lake", "lima-port"],
        "area": ["hall", "vip"],
        "date": ["2026-12-04", "2026-12-05"],
        "time": ["12:00", "18:30"],
        "party_size": [2, 4, 21],
        "booking_id": ["BKG-DAA66D13", "BKG-78DDE6C4", "BKG-17156075"],
    },
    "flights": {
        "origin": ["HAN", "SGN"],
        "destination": ["LIM", "OSL"],
        "date": [f"2026-12-{day}" for day in range(10, 20)],
        "passengers": [1],
        "cabin": ["economy"],
    },
    "migrations": {
        "changes": [
            [{"change": "add_column", "table": "customers", "column": f"note_{n}", "type": "text"}] for n in range(5)
        ]
    },
}
# Guards would refuse most of what comes here; they have tests of their own.
LOOSE = {
    "TOOLWORTHY_TIME_LIMIT": "1", "TOOLWORTHY_CALL_LOG": os.devnull, "TOOLWORTHY_RATE": "100000",
    "TOOLWORTHY_QUOTA": "100000", "TOOLWORTHY_LOOP_CAP": "100000",
}  # fmt: skip


@pytest.fixture(params=catalog.NAMES)
def name(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A server, with secrets in its surroundings: in the database's path, the environment and the home folder."""
    home = tmp_path / CANARY
    home.mkdir()
    for variable, value in {**LOOSE, "TOOLWORTHY_HOME": str(home), "API_KEY": CANARY}.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.delenv("TOOLWORTHY_DATABASE", raising=False)
    return str(request.param)


def state(home: Path) -> dict[str, str]:
    """What the server's databases hold, the audit log apart; by table, as a digest."""
    found = {}
    for file in sorted(home.rglob("*.db")):
        made = sa.create_engine(f"sqlite:///{file}")
        with made.connect() as connection:
            for table in sa.inspect(made).get_table_names():
                if table != "audit_log":
                    rows = sorted(map(repr, connection.exec_driver_sql(f'select * from "{table}"')))
                    found[f"{file.name}:{table}"] = hashlib.sha256("\n".join(rows).encode()).hexdigest()
        made.dispose()
    return found


class Judge:
    """Looks at every answer of one server."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.outputs = {
            tool.name: Draft202012Validator(tool.output_schema, format_checker=FormatChecker())
            for tool in subject.tools
            if tool.output_schema
        }
        self.seen: dict[str, Counter[str]] = {tool.name: Counter() for tool in subject.tools}

    async def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """Call, and find the answer in order; "done" or the category of the failure."""
        result = await self.subject.call(tool, arguments)
        kind = self.look(tool, arguments, result)
        self.seen[tool][kind] += 1
        return kind

    def look(self, tool: str, arguments: dict[str, Any], result: mcp_types.CallToolResult) -> str:
        about = f"{tool} {json.dumps(arguments)[:500]} -> {result.model_dump_json()[:1000]}"
        assert CANARY not in result.model_dump_json(), about
        assert isinstance(result.structured_content, dict), about
        (block,) = result.content
        assert isinstance(block, mcp_types.TextContent) and json.loads(block.text) == result.structured_content, about
        if not result.is_error:
            problems = [problem.message for problem in self.outputs[tool].iter_errors(result.structured_content)]
            assert not problems, f"{problems} {about}"
            return "done"
        failure = result.structured_content
        assert failure["errorCategory"] in CATEGORIES, about
        assert failure["isRetryable"] is (failure["errorCategory"] == "transient"), about
        assert "Traceback" not in block.text and "pydantic" not in block.text, about
        return str(failure["errorCategory"])


@contextmanager
def failing_database(chance: random.Random) -> Iterator[None]:
    """One statement in ten fails as a database does that goes away, with a secret in the text of the error."""

    def fail(*_: object) -> None:
        if chance.random() < 0.1:
            raise sa.exc.OperationalError(f"select '{CANARY}'", {}, Exception(f"could not connect to {CANARY}"))

    made = storage.engine()
    sa.event.listen(made, "before_cursor_execute", fail)
    try:
        yield
    finally:
        sa.event.remove(made, "before_cursor_execute", fail)


async def forbidden_calls(judge: Judge, world: World, home: Path) -> None:
    """None of them has an effect, here or outside."""
    for tool in judge.subject.tools:
        for mutant in invalid_calls(tool.input_schema):
            before, asked = state(home), len(world.ledger)
            kind = await judge.call(tool.name, mutant.arguments)
            if kind == "transient":  # the log wasn't to be had on a busy machine, and the answer says: once more
                kind = await judge.call(tool.name, mutant.arguments)
            assert kind == "validation", f"{tool.name}: {mutant.broken}: {kind}"
            assert len(world.ledger) == asked and state(home) == before, f"{tool.name}: {mutant.broken} had an effect"


async def allowed_calls(judge: Judge, world: World, name: str, count: int, seed: int, failing: bool) -> None:
    """First some calls in good weather, so that there is something to find; then with one failure in five calls."""
    chance, operations = random.Random(seed), sorted(o for o in world.operations if not o.startswith("clock."))
    known = KNOWN.get(name, {})
    for tool in judge.subject.tools:
        needed = tool.input_schema.get("required", [])
        if known and all(field in known for field in needed):
            await judge.call(tool.name, {field: known[field][0] for field in needed})
        for arguments in valid_calls(tool.input_schema, 10, seed=seed, given=known):
            await judge.call(tool.name, arguments)
    given = await catalog.harvest(judge.subject, known)
    for tool in judge.subject.tools:
        calls = valid_calls(tool.input_schema, count, seed=seed + 1, given=given)
        with ExitStack() as stack:
            if failing:
                stack.enter_context(failing_database(chance))
            for arguments in calls:
                if chance.random() < 0.2:
                    world.schedule(chance.choice(operations), chance.choice(FAULTS))
                await judge.call(tool.name, arguments)
    never = [tool for tool, kinds in judge.seen.items() if not kinds["done"]]
    assert not never, f"no call of {never} succeeded, so their results were never looked at: {judge.seen}"


@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_in_process(name: str, era: Any, world: World) -> None:
    home = Path(os.environ["TOOLWORTHY_HOME"])

    async def run() -> None:
        async with connect(catalog.server(name), era=era) as subject:
            judge = Judge(subject)
            await allowed_calls(judge, world, name, CALLS // 2, 1 if era == "modern" else 2, failing=True)
            await forbidden_calls(judge, world, home)

    asyncio.run(run())
    assert CANARY not in json.dumps(audit.lines(), default=str)


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_as_a_process(name: str, transport: str, served_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Path(os.environ["TOOLWORTHY_HOME"])
    more = {**LOOSE, "TOOLWORTHY_WORLD": os.environ["TOOLWORTHY_WORLD"], "API_KEY": CANARY}

    async def run(target: Any) -> None:
        async with connect(target) as subject:
            judge = Judge(subject)
            await allowed_calls(judge, served_world, name, CALLS // 10, 3, failing=False)
            await forbidden_calls(judge, served_world, home)

    with ExitStack() as stack:
        if transport == "http":
            port = stack.enter_context(http_server(catalog.file(name), **more))
            asyncio.run(run(f"http://127.0.0.1:{port}/mcp"))
        else:
            for variable, value in environment(**more).items():
                monkeypatch.setenv(variable, value)
            asyncio.run(run(catalog.file(name)))
