"""The servers that are meant to last, and what each needs around it for a test that calls all of its tools."""

from __future__ import annotations

import asyncio
import importlib
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastmcp import FastMCP

from tests.servers.running import SERVERS
from toolworthy import Subject
from toolworthy.rules.base import properties

NAMES = ("issues", "bookings", "payments", "mailer", "migrations", "documents", "shop", "flights")


def server(name: str) -> FastMCP:
    """The server object of a file in `servers`."""
    module = importlib.import_module(f"servers.{name}")
    if name == "flights":  # its limits and breaker remember, in the process, what earlier tests did
        module = importlib.reload(module)
    mcp = module.mcp
    assert isinstance(mcp, FastMCP)
    return mcp


def file(name: str) -> Path:
    """The file itself."""
    return SERVERS / f"{name}.py"


async def harvest(subject: Subject, known: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Values that mean something to a server, by field name: what its reading tools tell, asked twice over.

    Generated identifiers are hardly ever real ones, and a call that ends at "not found" tests little.
    """
    found: dict[str, list[Any]] = defaultdict(list, {name: list(values) for name, values in known.items()})
    for _ in range(2):
        for tool in subject.tools:
            # A plan only exists once it was made; making one changes nothing but that.
            if not (tool.annotations and tool.annotations.read_only_hint) and tool.name != "plan_migration":
                continue
            needed = tool.input_schema.get("required", [])
            if not all(found.get(name) for name in needed):
                continue
            for n in range(min(3, max([len(found[name]) for name in needed], default=1))):
                arguments = {name: found[name][n % len(found[name])] for name in needed}
                result = await subject.call(tool.name, arguments)
                if not result.is_error:
                    _gather(result.structured_content, found)
    wanted = {name for tool in subject.tools for name in properties(tool)}
    return {name: values for name, values in found.items() if name in wanted}


def _gather(value: Any, into: dict[str, list[Any]]) -> None:
    if isinstance(value, dict):
        for key, each in value.items():
            if isinstance(each, str | int) and each not in into[key]:
                into[key].append(each)
            _gather(each, into)
    elif isinstance(value, list):
        for each in value:
            _gather(each, into)


def run(coroutine: Any) -> Any:
    """The result of a coroutine, from a test that isn't one."""
    return asyncio.run(coroutine)
