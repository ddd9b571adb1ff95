"""Lesson 01: what becomes of malformed calls, and what a host learns of a tool that says nothing."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

import jsonschema
import pytest
from fastmcp import FastMCP

from servers.broken.forecast import mcp as forecast
from servers.weather.naive import mcp as naive
from tests.facts.raw import ALL, HANDSHAKE, MODERN, call, listed

GOOD: dict[str, Any] = {"city": "Oslo", "days": 2, "start": "2026-12-01", "units": "C", "options": {}}


def text(reply: dict[str, Any]) -> str:
    return str(reply["result"]["content"][0]["text"])


@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize(
    ("server", "tool", "arguments"),
    [
        (naive, "get_weather", {"city": 42}),
        (naive, "get_weather", {}),
        (naive, "get_weather", {"city": "Oslo", "units": "C"}),
        (naive, "get_weather", {"kwargs": {"city": "Oslo"}}),
        (forecast, "get_forecast", GOOD | {"start": "01/12/2026"}),
        (forecast, "get_forecast", GOOD | {"units": None}),
        (forecast, "get_forecast", GOOD | {"options": '{"rain": true}'}),
    ],
)
def test_the_schema_refuses_in_a_result(revision: str, server: FastMCP, tool: str, arguments: dict[str, Any]) -> None:
    reply = call(server, revision, tool, arguments)
    assert reply["result"]["isError"] is True
    assert "validation error" in text(reply)
    assert "errors.pydantic.dev" in text(reply)


@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize(
    "change", [{"days": "2"}, {"days": True}, {"units": "fahrenheit"}, {"options": {"rein": True}}]
)
def test_these_run_and_answer(revision: str, change: dict[str, Any]) -> None:
    assert call(forecast, revision, "get_forecast", GOOD | change)["result"]["isError"] is False


@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize(
    ("server", "tool", "arguments"),
    [
        (naive, "get_weather", {"city": ""}),
        (forecast, "get_forecast", GOOD | {"days": -5}),
        (forecast, "get_forecast", GOOD | {"start": 0}),
    ],
)
def test_these_run_and_fail(revision: str, server: FastMCP, tool: str, arguments: dict[str, Any]) -> None:
    reply = call(server, revision, tool, arguments)
    assert reply["result"]["isError"] is True
    assert text(reply).startswith("Error calling tool")


def test_zero_for_a_date_is_the_first_day_of_1970() -> None:
    server: FastMCP = FastMCP("dates")

    @server.tool
    def echo(day: dt.date) -> str:
        return day.isoformat()

    assert text(call(server, MODERN, "echo", {"day": 0})) == "1970-01-01"


def test_true_for_a_number_is_one() -> None:
    server: FastMCP = FastMCP("numbers")

    @server.tool
    def echo(number: int) -> int:
        return number

    assert text(call(server, MODERN, "echo", {"number": True})) == "1"


@pytest.mark.parametrize("revision", ALL)
def test_the_naive_tool_lists_no_description_and_no_annotations(revision: str) -> None:
    tool = listed(naive, revision)
    assert "description" not in tool
    assert "annotations" not in tool


def test_an_enumeration_names_the_accepted_values_when_it_refuses() -> None:
    server: FastMCP = FastMCP("units")

    @server.tool
    def echo(units: Literal["C", "F"]) -> str:
        return units

    assert listed(server, MODERN)["inputSchema"]["properties"]["units"] == {"enum": ["C", "F"], "type": "string"}
    assert "Input should be 'C' or 'F'" in text(call(server, MODERN, "echo", {"units": "fahrenheit"}))


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_fields_of_a_result_in_the_handshake_era(revision: str) -> None:
    assert set(call(naive, revision, "get_weather", {"city": 42})["result"]) == {"content", "isError"}


def test_fields_of_a_result_in_the_modern_era() -> None:
    result = call(naive, MODERN, "get_weather", {"city": 42})["result"]
    assert set(result) == {"content", "isError", "resultType", "_meta"}


@pytest.mark.parametrize("change", [{"days": "2"}, {"days": True}, {"start": 0}])
def test_the_published_schema_forbids_what_lax_validation_converts(change: dict[str, Any]) -> None:
    schema = listed(forecast, MODERN)["inputSchema"]
    assert jsonschema.Draft202012Validator(schema).is_valid(GOOD)
    assert not jsonschema.Draft202012Validator(schema).is_valid(GOOD | change)
