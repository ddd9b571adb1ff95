"""From anything that names a server to a connected client, and one sentence for anything that doesn't."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from fastmcp import FastMCP
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.utilities.tests import asgi_server
from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult

from servers.weather.naive import mcp as naive
from toolworthy import TargetError, connect
from toolworthy.subject import Era


def tools(target: object, era: Era = "auto", limit: float = 20.0) -> list[str]:
    async def go() -> list[str]:
        async with connect(target, era=era, limit=limit) as subject:
            assert len(subject.tape) > 0
            return [t.name for t in subject.tools]

    return asyncio.run(go())


def refusal(target: object, limit: float = 20.0) -> str:
    with pytest.raises(TargetError) as caught:
        tools(target, limit=limit)
    sentence = str(caught.value)
    assert "\n" not in sentence and "Traceback" not in sentence and sentence.endswith(".")
    return sentence


@pytest.mark.parametrize("era", ["auto", "handshake", "modern"])
def test_every_kind_of_target_in_every_era(files: Path, era: Era) -> None:
    good = str(files / "good.py")
    sdk = MCPServer("sdk")

    @sdk.tool()
    def add(a: int) -> int:
        return a

    configuration = {"mcpServers": {"good": {"command": sys.executable, "args": [good]}}}
    (files / "servers.json").write_text(json.dumps(configuration), encoding="utf-8")
    assert tools(naive, era) == ["get_weather"]
    targets: list[object] = [sdk, Path(good)]
    if era == "auto":  # a process is the same in every era; its start is what takes time
        targets += [good, f"{good}:mcp", [sys.executable, good], configuration, files / "servers.json"]
    for target in targets:
        assert tools(target, era) == ["add"], target


def test_a_host_configuration_with_two_servers_prefixes_their_tools(files: Path) -> None:
    entry = {"command": sys.executable, "args": [str(files / "good.py")]}
    assert sorted(tools({"mcpServers": {"one": entry, "two": entry}})) == ["one_add", "two_add"]


@pytest.mark.parametrize("era", ["auto", "handshake"])
def test_http_is_recorded_too(era: Era) -> None:
    async def go() -> tuple[list[str], str]:
        async with asgi_server(naive) as served, connect(served.transport(), era=era) as subject:
            await subject.call("get_weather", {"city": "Oslo"})
            return [m.kind for m in subject.tape.about("tools/call")], subject.revision

    kinds, revision = asyncio.run(go())
    assert kinds == ["request", "response"]
    assert revision == ("2026-07-28" if era == "auto" else "2025-11-25")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (None, "The target is None".lower()),
        (3, "is no server"),
        ("nowhere.py", "no file"),
        ("README.md", "no .py, .js or .json"),
        ("tests", "is a folder"),
        ({}, "names no server"),
        ({"mcpServers": {}}, "names no server"),
        ({"mcpServers": {"x": {"command": 3}}}, "no valid host configuration"),
        ([], "command is empty"),
        (["no-such-program"], "was not found"),
        ("http://127.0.0.1:9/mcp", "connection attempts failed"),
        ("http://[::1", "no url that can be used"),
        ("x" * 100_000, "no file"),
        ("\x00.py", "no file"),
    ],
)
def test_what_names_no_server_is_one_sentence(target: Any, words: str) -> None:
    assert words in refusal(target).lower()


@pytest.mark.parametrize("text", ["[]", "3", "{", "[" * 100_000, "\x00"])
def test_a_configuration_that_is_none_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "servers.json").write_text(text, encoding="utf-8")
    assert "servers.json" in refusal(tmp_path / "servers.json")


def test_a_coroutine_is_told_about_await() -> None:
    async def make() -> FastMCP:
        return naive

    assert "await" in refusal(make())


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("no_run.py", "mcp.run()"),
        ("crashes.py", "no database here"),
        ("syntax.py", "SyntaxError"),
        ("prints.py", "no JSON-RPC"),
        ("hangs.py", "did not answer within 3 seconds"),
        ("floods_stderr.py", "did not answer within 3 seconds"),
    ],
)
def test_a_process_that_serves_nothing_is_one_sentence(files: Path, file: str, words: str) -> None:
    assert words in refusal(files / file, limit=3 if "within 3" in words else 20)


def test_a_result_arrives_as_it_was_sent_even_if_it_breaks_its_schema() -> None:
    broken: FastMCP = FastMCP("broken")

    @broken.tool(output_schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
    def count() -> dict[str, str]:
        return {"n": "many"}

    async def go() -> CallToolResult:
        async with connect(broken) as subject:
            return await subject.call("count")

    assert asyncio.run(go()).structured_content == {"n": "many"}


def test_a_pattern_that_never_ends_does_not_stop_the_observer() -> None:
    slow: FastMCP = FastMCP("slow")

    @slow.tool(output_schema={"type": "object", "properties": {"s": {"type": "string", "pattern": "^(a+)+$"}}})
    def text() -> dict[str, str]:
        return {"s": "a" * 40 + "!"}

    async def go() -> CallToolResult:
        async with connect(slow) as subject:
            return await subject.call("text")

    assert asyncio.run(go()).structured_content == {"s": "a" * 40 + "!"}


def test_nothing_is_left_behind(files: Path) -> None:
    import psutil

    before = {p.pid for p in psutil.Process().children(recursive=True)}
    tools(files / "good.py")
    assert {p.pid for p in psutil.Process().children(recursive=True)} <= before


def test_a_url_is_no_file() -> None:
    from toolworthy.subject import transport_for

    transport = transport_for("http://127.0.0.1:1/mcp")
    assert isinstance(transport, StreamableHttpTransport)
    assert re.match("http", transport.url)
