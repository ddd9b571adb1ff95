"""Lesson 00: who talks how, and the two ways to open."""

from __future__ import annotations

import asyncio

import pytest
from fastmcp import Client, Context, FastMCP
from mcp.shared.exceptions import MCPError

from servers.weather.naive import mcp
from tests.facts.raw import ALL, ENVELOPE, HANDSHAKE, MODERN, call, listed, talk
from toolworthy import connect


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_handshake_is_answered_in_the_revision_that_was_asked_for(revision: str) -> None:
    assert talk(mcp, revision)[0]["result"]["protocolVersion"] == revision


def test_the_modern_era_has_no_handshake_but_discovery() -> None:
    (opening,) = talk(mcp, MODERN)
    assert opening["result"]["supportedVersions"] == [MODERN]
    assert opening["result"]["resultType"] == "complete"


def test_the_modern_era_can_skip_discovery() -> None:
    async def methods() -> list[str]:
        async with connect(mcp, era="modern") as subject:
            return [m.body["method"] for m in subject.tape if "method" in m.body]

    assert asyncio.run(methods()) == ["tools/list"]


@pytest.mark.parametrize(("era", "revision"), [("auto", MODERN), ("handshake", "2025-11-25")])
def test_what_the_client_negotiates(era: str, revision: str) -> None:
    async def negotiated() -> str:
        async with connect(mcp, era=era) as subject:  # type: ignore[arg-type]
            return subject.revision

    assert asyncio.run(negotiated()) == revision


def test_requests_carry_meta_in_the_modern_era_only() -> None:
    async def params(era: str) -> dict[str, object]:
        async with connect(mcp, era=era) as subject:  # type: ignore[arg-type]
            body = subject.tape.about("tools/list")[0].body
            return body.get("params", {})

    assert "io.modelcontextprotocol/protocolVersion" in str(asyncio.run(params("auto")))
    assert "_meta" not in asyncio.run(params("handshake"))


@pytest.mark.parametrize("revision", ALL)
def test_the_same_tool_is_listed_in_every_revision(revision: str) -> None:
    assert listed(mcp, revision) == listed(mcp, MODERN)


@pytest.mark.parametrize("revision", ALL)
def test_a_response_has_a_result_or_an_error_and_never_both(revision: str) -> None:
    _, good, bad = talk(mcp, revision, ("tools/list", {}), ("tools/guess", {}))
    assert "result" in good and "error" not in good
    assert "error" in bad and "result" not in bad
    assert bad["error"]["code"] == -32601


@pytest.mark.parametrize("revision", ALL)
def test_a_misspelt_parameter_is_a_result_that_the_model_can_read(revision: str) -> None:
    reply = call(mcp, revision, "get_weather", {"town": "Hanoi"})
    assert reply["result"]["isError"] is True
    assert "Unexpected keyword argument" in reply["result"]["content"][0]["text"]


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_ping_is_answered_before_the_modern_era(revision: str) -> None:
    assert talk(mcp, revision, ("ping", {}))[1]["result"] == {}


def test_ping_is_gone_in_the_modern_era() -> None:
    assert talk(mcp, MODERN, ("ping", {}))[1]["error"]["code"] == -32601


def test_state_of_a_session_is_kept_in_the_handshake_era_only() -> None:
    server: FastMCP = FastMCP("state")

    @server.tool
    async def remember(ctx: Context, value: str) -> str | None:
        before = await ctx.get_state("value")
        await ctx.set_state("value", value)
        return before  # type: ignore[no-any-return]

    async def second_answer(mode: str) -> object:
        async with Client(server, mode=mode) as client:
            await client.call_tool("remember", {"value": "first"})
            return (await client.call_tool("remember", {"value": "second"})).data

    assert asyncio.run(second_answer("legacy")) == "first"
    assert asyncio.run(second_answer("auto")) is None


def test_an_unknown_method_is_an_exception_in_the_client() -> None:
    async def ping() -> None:
        async with Client(mcp) as client:
            await client.ping()

    with pytest.raises(MCPError):
        asyncio.run(ping())


def test_without_an_opening_and_without_meta_nothing_is_listed() -> None:
    (reply,) = talk(mcp, "none", ("tools/list", {}))
    assert reply["error"]["code"] == -32602


def test_a_request_that_carries_its_meta_needs_no_opening() -> None:
    (reply,) = talk(mcp, "none", ("tools/list", {"_meta": ENVELOPE}))
    assert reply["result"]["tools"][0]["name"] == "get_weather"
