"""Lesson 02: what of names, titles and docstrings reaches the wire."""

from __future__ import annotations

import asyncio

import pytest
from fastmcp import FastMCP
from mcp.server.mcpserver import MCPServer
from mcp_types import Tool

from tests.facts.raw import ALL, MODERN, listed
from toolworthy import connect
from toolworthy.ranking import rank


def server_with(**metadata: object) -> FastMCP:
    server: FastMCP = FastMCP("facts")
    server.tool(lambda city: city, **metadata)  # type: ignore[call-overload]
    return server


@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("name", ["calendar.respondToEvent", "get weather", "météo", "2nd_try", "x" * 200])
def test_no_name_is_refused(revision: str, name: str) -> None:
    assert listed(server_with(name=name, description="d"), revision)["name"] == name


@pytest.mark.parametrize("revision", ALL)
def test_titles(revision: str) -> None:
    assert listed(server_with(name="get_weather"), revision)["title"] == "Get Weather"
    assert listed(server_with(name="get_weather", title="Weather now"), revision)["title"] == "Weather now"
    inner = listed(server_with(name="get_weather", annotations={"title": "Weather now"}), revision)
    assert inner["title"] == inner["annotations"]["title"] == "Weather now"


@pytest.mark.parametrize("revision", ALL)
def test_of_a_docstring_the_summary_and_the_parameters_arrive(revision: str) -> None:
    server: FastMCP = FastMCP("docs")

    @server.tool
    def get_weather(city: str) -> str:
        """Get the weather.

        Use it for this moment.

        Args:
            city: Such as Hanoi.

        Returns:
            In °C.

        Note:
            Samples.

        And this.
        """
        return city

    tool = listed(server, revision)
    assert tool["description"] == "Get the weather.\n\nUse it for this moment."
    assert tool["inputSchema"]["properties"]["city"]["description"] == "Such as Hanoi."


def test_a_function_without_docstring_has_no_description() -> None:
    assert "description" not in listed(server_with(name="get_weather"), MODERN)


@pytest.mark.parametrize("length", [2049, 5000, 50000])
def test_a_long_description_is_sent_whole(length: int) -> None:
    assert len(listed(server_with(name="send_mail", description="d" * length), MODERN)["description"]) == length


def test_the_same_keys_are_sent_in_every_revision() -> None:
    server = server_with(name="get_weather", title="Weather now", description="d", annotations={"readOnlyHint": True})
    assert len({tuple(sorted(listed(server, revision))) for revision in ALL}) == 1


def test_the_sdks_own_server_makes_no_title() -> None:
    server = MCPServer("sdk")

    @server.tool()
    def get_weather(city: str) -> str:
        return city

    async def title() -> str | None:
        async with connect(server) as subject:
            return subject.tools[0].title

    assert asyncio.run(title()) is None


def test_the_search_takes_a_camel_case_name_for_one_word() -> None:
    tools = [Tool(name=n, input_schema={}) for n in ("get_weather", "getForecast")]
    found = rank(
        tools, [("the weather", "get_weather"), ("the forecast", "getForecast"), ("getforecast", "getForecast")]
    )
    assert [r.place for r in found] == [1, 0, 1]
