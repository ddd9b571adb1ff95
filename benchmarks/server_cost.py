"""What the guards of our servers cost, beside a bare FastMCP server that does nothing.

    python benchmarks/server_cost.py [CALLS] [--database URL]

Start to first answer over stdio; milliseconds a call in-process, over stdio and over HTTP; calls a second and memory
over HTTP with 1 and with 50 clients. The clients are one Python process beside the server, so on a machine with two
cores throughput is what both can do together. Every server is asked in turn within one run: compare the ratios.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import runpy
import statistics
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from fastmcp import Client
from fastmcp.client.transports import PythonStdioTransport
from rich.console import Console
from rich.progress import track
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tests.servers.running import environment, http_server  # noqa: E402

HERE, SERVERS = ROOT / "benchmarks" / "servers", ROOT / "servers"
CLIENTS = (1, 50)
numbers = itertools.count()


@dataclass
class Subject:
    """One tool of one server, with arguments for the next call."""

    name: str
    file: Path
    tool: str
    arguments: Callable[[], dict[str, Any]] = dict
    figures: dict[str, list[float]] = field(default_factory=dict)

    def note(self, column: str, value: float) -> None:
        self.figures.setdefault(column, []).append(value)

    def median(self, column: str) -> float:
        return statistics.median(self.figures[column])


def new_key() -> str:
    return f"{time.time_ns()}-{next(numbers)}"


def new_issue() -> dict[str, Any]:
    return {"repo": "acme/web", "title": "Slow", "body": "x" * 500, "idempotency_key": new_key()}


def new_charge() -> dict[str, Any]:
    return {"customer_id": "cus_binh", "amount_minor": 5, "currency": "EUR", "idempotency_key": new_key()}


SUBJECTS = [
    Subject("bare, nothing", HERE / "bare.py", "do_nothing"),
    Subject("guarded, reads nothing", HERE / "guarded.py", "read_nothing"),
    Subject("guarded, writes nothing", HERE / "guarded.py", "write_nothing"),
    Subject("issues: list_issues", SERVERS / "issues.py", "list_issues", lambda: {"repo": "acme/none"}),
    Subject("issues: create_issue", SERVERS / "issues.py", "create_issue", new_issue),
    Subject("payments: charge_payment", SERVERS / "payments.py", "charge_payment", new_charge),
]


async def calls(client: Client[Any], subject: Subject, count: int, column: str) -> None:
    for _ in range(count):
        begin = time.perf_counter()
        await client.call_tool(subject.tool, subject.arguments())
        subject.note(column, (time.perf_counter() - begin) * 1000)


async def in_process(subject: Subject, count: int) -> None:
    async with Client(runpy.run_path(str(subject.file))["mcp"]) as client:
        await client.call_tool(subject.tool, subject.arguments())
        await calls(client, subject, count, "in-process")


async def stdio(subject: Subject, count: int, env: dict[str, str]) -> None:
    begin = time.perf_counter()
    transport = PythonStdioTransport(subject.file, env=environment(**env), keep_alive=False)
    async with Client(transport) as client:
        await client.call_tool(subject.tool, subject.arguments())
        subject.note("start", time.perf_counter() - begin)
        await calls(client, subject, count, "stdio")


def body(subject: Subject) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": subject.tool, "arguments": subject.arguments(), "_meta": meta}
    return {"jsonrpc": "2.0", "id": next(numbers), "method": "tools/call", "params": params}


async def load(subject: Subject, port: int, clients: int, count: int) -> None:
    """Plain HTTP requests of the newest revision, as many as `count`, from so many clients at once."""
    headers = {"Mcp-Method": "tools/call", "Mcp-Name": subject.tool, "MCP-Protocol-Version": "2026-07-28"}
    headers["Accept"] = "application/json, text/event-stream"
    limits = httpx2.Limits(max_connections=clients)
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", limits=limits, trust_env=False) as http:

        async def one(share: int) -> None:
            for _ in range(share):
                answer = await http.post("/mcp", json=body(subject), headers=headers, timeout=60)
                assert answer.status_code == 200 and not answer.json()["result"]["isError"], answer.text

        await one(1)
        begin = time.perf_counter()
        await asyncio.gather(*(one(count // clients) for _ in range(clients)))
        subject.note(f"calls/s, {clients}", count // clients * clients / (time.perf_counter() - begin))


def memory(port: int) -> float:
    """Resident megabytes of the process that listens on a port."""
    listing = subprocess.run(["ps", "-eo", "rss=,args="], capture_output=True, text=True, check=True).stdout
    (line,) = [line for line in listing.splitlines() if line.endswith(f"--http {port}")]
    return int(line.split()[0]) / 1024


def http(subject: Subject, count: int, env: dict[str, str]) -> None:
    with http_server(subject.file, **env) as port:

        async def alone() -> None:
            async with Client(f"http://127.0.0.1:{port}/mcp") as client:
                await client.call_tool(subject.tool, subject.arguments())
                await calls(client, subject, count, "HTTP")

        asyncio.run(alone())
        for clients in CLIENTS:
            asyncio.run(load(subject, port, clients, max(count, 4 * clients)))
            subject.note(f"MB, {clients}", memory(port))


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("calls", nargs="?", type=int, default=200)
    parser.add_argument("--database", help="instead of a new SQLite file, such as postgresql+psycopg://me@localhost/b")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as home:
        env = {"TOOLWORTHY_HOME": home} | ({"TOOLWORTHY_DATABASE": given.database} if given.database else {})
        os.environ |= env
        for _ in track(range(3), "three rounds", console=Console(stderr=True)):
            for subject in SUBJECTS:
                asyncio.run(in_process(subject, given.calls))
                asyncio.run(stdio(subject, given.calls, env))
                http(subject, given.calls, env)
    bare = SUBJECTS[0]
    table = Table("server, tool", title=f"{given.calls} calls, three rounds, medians; × is times the bare server")
    for column in bare.figures:
        table.add_column(column, justify="right")
    for subject in SUBJECTS:
        cells = [f"{subject.median(c):,.3g} ({subject.median(c) / bare.median(c):.1f}×)" for c in bare.figures]
        table.add_row(subject.name, *cells)
    Console(width=200).print(table)


if __name__ == "__main__":
    main()
