"""How long a learner waits for a check: each part of each exercise, in-process, on its model solution.

    python benchmarks/check_latency.py [ROUNDS]

Beside it, in the same run: the floor (a bare FastMCP client that lists the tools, calls each once and judges nothing)
and a rival (the whole notebook under `pytest --nbval-lax`, the way to grade it without toolworthy).
"""

from __future__ import annotations

import asyncio
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from fastmcp import Client
from rich.console import Console
from rich.progress import track
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.answers import EXERCISES, ROOT, run, solution_source
from toolworthy import check
from toolworthy.exercise import Exercise

SAMPLE = {"role": "reader", "issue_id": "I-101", "project": "docs", "path": "README.md", "email": "ana@forge.example"}


async def milliseconds(work: Callable[[], Awaitable[object]]) -> float:
    begin = time.perf_counter()
    await work()
    return (time.perf_counter() - begin) * 1000


async def bare_client(server: Any) -> None:
    async with Client(server) as client:
        for tool in await client.list_tools():
            arguments = {p: SAMPLE.get(p, "x") for p in tool.input_schema["properties"]}
            await client.call_tool(tool.name, arguments, raise_on_error=False)


async def measure(exercise: Exercise, rounds: int) -> list[tuple[str, list[float]]]:
    server = await run(solution_source(exercise))
    await bare_client(server)  # imports and first calls are paid once, before anything is timed
    rows: list[tuple[str, list[float]]] = [("floor: bare FastMCP client", [])]
    rows += [(f"{p.id} {p.title}", []) for p in exercise.parts]
    for _ in track(range(rounds), f"exercise {exercise.id}", console=Console(stderr=True)):
        rows[0][1].append(await milliseconds(lambda: bare_client(server)))
        for part, (_, times) in zip(exercise.parts, rows[1:], strict=True):
            times.append(await milliseconds(partial(check, part.id, server)))
    return rows


def nbval(exercise: Exercise) -> float:
    book = ROOT / "solutions" / exercise.notebook.name
    command = [sys.executable, "-m", "pytest", "--nbval-lax", "-o", "addopts=", "-p", "no:cacheprovider", str(book)]
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    return (time.perf_counter() - begin) * 1000


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as home:
        os.environ["TOOLWORTHY_HOME"] = home
        for exercise in EXERCISES:
            rows = asyncio.run(measure(exercise, rounds))
            floor = statistics.median(rows[0][1])
            title = f"exercise {exercise.id}, {rounds} rounds"
            table = Table("what", "median ms", "slowest of 20 ms", "times the floor", title=title)
            for name, times in rows:
                late = statistics.quantiles(times, n=20)[-1]
                median = statistics.median(times)
                table.add_row(name, f"{median:.1f}", f"{late:.1f}", f"{median / floor:.1f}")
            whole = nbval(exercise)
            table.add_row("rival: whole notebook under nbval", f"{whole:.0f}", "", f"{whole / floor:.0f}")
            Console().print(table)


if __name__ == "__main__":
    main()
