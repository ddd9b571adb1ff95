"""The first two stages of get_weather and the two broken servers, through a client over every transport."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.transports import PythonStdioTransport
from fastmcp.exceptions import ToolError

from servers.backends.world import Down, TimesOut, World
from servers.broken import forecast, update
from servers.weather import described, naive
from tests.servers.running import ERAS, SERVERS, Mode, environment, http_server, run_server

WEATHER = SERVERS / "weather"
BROKEN = SERVERS / "broken"
OSLO = {
    "naive": "It is 2.3 degrees and partly_cloudy in Oslo (sample)",
    "described": "Oslo, NO: 2.3 °C, humidity 46 %, wind 10.6 km/h, partly cloudy, "
    "observed at 2026-11-30 12:00 UTC, source: sample.",
}
MCPS = {"naive": naive.mcp, "described": described.mcp}
STAGES = pytest.mark.parametrize("stage", ["naive", "described"])
BOTH_ERAS = pytest.mark.parametrize("mode", ERAS)


def call(target: Any, tool: str, arguments: dict[str, Any], mode: Mode = "auto") -> tuple[bool, str]:
    """One call through a client: whether it is an error, and the text that a model would read."""

    async def run() -> tuple[bool, str]:
        async with Client(target, mode=mode) as client:
            assert client.protocol_version == ERAS[mode]
            result = await client.call_tool(tool, arguments, raise_on_error=False)
            return result.is_error, result.content[0].text

    return asyncio.run(run())


def tools(mcp: FastMCP) -> dict[str, Any]:
    async def run() -> dict[str, Any]:
        async with Client(mcp) as client:
            return {tool.name: tool for tool in await client.list_tools()}

    return asyncio.run(run())


# --- in this process -------------------------------------------------------------------------------------------------


@STAGES
@BOTH_ERAS
def test_it_tells_the_weather(world: World, stage: str, mode: Mode) -> None:
    assert call(MCPS[stage], "get_weather", {"city": "oslo"}, mode) == (False, OSLO[stage])
    assert [entry.arguments for entry in world.ledger] == [{"city": "Oslo, NO"}]


def test_the_naive_server_says_nothing_about_its_tool() -> None:
    (tool,) = tools(naive.mcp).values()
    assert tool.name == "get_weather"
    assert tool.description is None and tool.annotations is None
    assert tool.input_schema["properties"] == {"city": {"type": "string"}}


def test_the_described_server_has_the_same_schema_and_says_what_it_means() -> None:
    (plain,), (tool,) = tools(naive.mcp).values(), tools(described.mcp).values()
    city = dict(tool.input_schema["properties"]["city"])
    text = city.pop("description")
    assert {**tool.input_schema, "properties": {"city": city}} == plain.input_schema
    assert tool.output_schema == plain.output_schema

    assert tool.title == "Current weather in a city"
    assert tool.description.startswith("Get the current weather in one city.")
    for words in ("Use it when", "Don't use it for", "°C", "km/h", "sample", "Oslo"):
        assert words in tool.description
    for words in ("München", "東京", "Córdoba, AR"):
        assert words in text
    assert len(tool.description) < 1_000
    assert tool.annotations is None


def test_the_described_parameter_means_what_it_says(world: World) -> None:
    for city in ("Hanoi", "München", "東京", "Córdoba, AR"):
        error, text = call(described.mcp, "get_weather", {"city": city})
        assert not error and "°C" in text


@STAGES
def test_failures_go_out_as_they_come(world: World, monkeypatch: pytest.MonkeyPatch, stage: str) -> None:
    monkeypatch.setenv("TOOLWORTHY_TIME_LIMIT", "0.2")
    world.schedule("weather.current", Down())
    world.schedule("weather.current", TimesOut())
    texts = [call(MCPS[stage], "get_weather", {"city": city}) for city in ("Oslo", "Oslo", "Osloo", "Cordoba")]
    prefix = "Error calling tool 'get_weather': "
    assert texts == [
        (True, f"{prefix}weather.current is out of order (status 503)."),
        (True, f"{prefix}weather.current didn't answer within 0.2 s."),
        (True, f"{prefix}There is no city called 'Osloo' here. Did you mean Oslo, NO?"),
        (True, f"{prefix}More than one city is called 'Cordoba': Córdoba, ES or Córdoba, AR?"),
    ]


@STAGES
@pytest.mark.parametrize("arguments", [{"city": 42}, {"city": None}, {}, {"city": "Oslo", "units": "F"}])
def test_any_string_is_taken_and_nothing_else(world: World, stage: str, arguments: dict[str, Any]) -> None:
    error, text = call(MCPS[stage], "get_weather", arguments)
    assert error and "validation error" in text
    assert world.ledger == ()


# --- as a process ----------------------------------------------------------------------------------------------------


@STAGES
@BOTH_ERAS
def test_over_stdio_and_acting_on_the_world_that_it_was_given(
    stage: str, mode: Mode, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    world = World()
    world.schedule("weather.current", Down())

    async def run(address: str) -> None:
        transport = PythonStdioTransport(
            WEATHER / f"{stage}.py", env=environment(TOOLWORTHY_WORLD=address), cwd=str(tmp_path), keep_alive=False
        )
        async with Client(transport, mode=mode) as client:
            assert client.protocol_version == ERAS[mode]
            with pytest.raises(ToolError, match="out of order"):
                await client.call_tool("get_weather", {"city": "Oslo"})
            result = await client.call_tool("get_weather", {"city": "Oslo"})
            assert result.content[0].text == OSLO[stage]

    with world.serve() as address:
        asyncio.run(run(address))
    assert [entry.outcome for entry in world.ledger] == ["down", "answered"]
    assert capfd.readouterr() == ("", "")


@STAGES
def test_over_http_for_callers_from_here_only(stage: str) -> None:
    with http_server(WEATHER / f"{stage}.py") as port:
        for mode in ERAS:
            url = f"http://127.0.0.1:{port}/mcp"
            assert call(url, "get_weather", {"city": "Oslo"}, mode) == (False, OSLO[stage])

        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
            assert client.post("/mcp", headers={"Host": "evil.example"}).status_code == 421
            assert client.post("/mcp", headers={"Origin": "https://evil.example"}).status_code == 403
            assert client.post("/mcp", headers={"Host": f"localhost:{port}"}).status_code == 400


@pytest.mark.parametrize("port", ["0", "x", "-1", "65536", "8" * 5_000])
def test_a_port_must_be_a_port(port: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["naive.py", f"--http={port}"])
    with pytest.raises(SystemExit) as stopped:
        naive.serve(naive.mcp)
    assert stopped.value.code == 2
    out, err = capsys.readouterr()
    assert out == "" and err == f"A port is a number from 1 to 65535, not {port!r}.\n"


def test_a_taken_port_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run_server(WEATHER / "naive.py", "--http", str(port))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Can't serve on port {port}: ")
    assert done.stderr.endswith("Choose another with --http PORT.\n") and done.stderr.count("\n") == 1


def test_help_says_what_it_needs() -> None:
    done = run_server(BROKEN / "update.py", "--help")
    text = " ".join(done.stdout.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert "The MCP server 'contacts'." in text
    assert "no account, no key and no network" in text
    assert "http://127.0.0.1:PORT/mcp" in text


def test_it_ends_quietly_when_the_host_hangs_up() -> None:
    done = run_server(BROKEN / "forecast.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("file", "line"),
    [
        (WEATHER / "described.py", "Get the current weather in one city."),
        (BROKEN / "update.py", "update(data: dict)"),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else "",
)
def test_fastmcp_list_and_run_take_the_file(file: Path, line: str) -> None:
    """`fastmcp list FILE` starts the server with `fastmcp run FILE`."""
    done = subprocess.run(
        ["fastmcp", "list", str(file)],
        env=environment(NO_COLOR="1", COLUMNS="120"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert line in done.stdout


# --- bad on purpose --------------------------------------------------------------------------------------------------

TOMORROW = {"city": "Oslo", "days": 1, "start": "2026-12-01", "units": "C", "options": {}}


@pytest.mark.parametrize("module", [forecast, update])
def test_a_broken_server_says_that_it_is_meant_to_be(module: Any) -> None:
    assert module.__doc__.startswith("Bad on purpose: ")
    (tool,) = tools(module.mcp).values()
    assert tool.description is None and tool.annotations is None


def test_the_forecast_schema_bounds_nothing() -> None:
    (tool,) = tools(forecast.mcp).values()
    assert tool.input_schema["properties"] == {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "start": {"type": "string", "format": "date"},
        "units": {"type": "string"},
        "options": {"type": "object", "additionalProperties": True},
    }
    assert sorted(tool.input_schema["required"]) == ["city", "days", "options", "start", "units"]


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({}, False, "Tuesday will be partly_cloudy with up to 4.0 degrees"),
        ({"units": "F"}, False, "Tuesday will be partly_cloudy with up to 39.0 degrees"),
        ({"units": "fahrenheit"}, False, "Tuesday will be partly_cloudy with up to 4.0 degrees"),
        ({"units": "kelvin"}, False, "Tuesday will be partly_cloudy with up to 4.0 degrees"),
        ({"days": True}, False, "Tuesday will be partly_cloudy with up to 4.0 degrees"),
        ({"options": {"rian": True}}, False, "Tuesday will be partly_cloudy with up to 4.0 degrees"),
        (
            {"options": {"rain": "false"}},
            False,
            "Tuesday will be partly_cloudy with up to 4.0 degrees and 0.0 of rain",
        ),
        ({"options": {"round": "two"}}, True, "'str' object cannot be interpreted as an integer"),
        ({"days": 30}, True, "A forecast is for 1 to 7 days, not 30."),
        ({"start": 0}, True, "There is a forecast for the days from 2026-11-30 to 2026-12-15 only."),
        ({"start": "01/12/2026"}, True, "validation error"),
    ],
)
def test_the_forecast_takes_nearly_anything(world: World, change: dict[str, Any], error: bool, text: str) -> None:
    failed, said = call(forecast.mcp, "get_forecast", TOMORROW | change)
    assert failed is error
    assert said == text if not error else text in said


@pytest.fixture
def address_book() -> Iterator[None]:
    update.reset()
    yield
    update.reset()


def names() -> list[str]:
    return [contact["name"] for contact in update.contacts()]


def contact(name: str) -> dict[str, Any]:
    (found,) = [each for each in update.contacts() if each["name"] == name]
    return found


@pytest.mark.usefixtures("address_book")
def test_update_means_seven_things_in_one_conversation_and_loses_the_wrong_record() -> None:
    before = names()
    (tool,) = tools(update.mcp).values()
    assert tool.input_schema["properties"] == {"data": {"type": "object", "additionalProperties": True}}

    def said(**data: Any) -> str:
        error, text = call(update.mcp, "update", {"data": data})
        assert not error
        return text

    answers = [said(who="Tran Minh", name="Trần Minh")]
    assert "Trần Minh" in names()

    answers.append(said(who="Amina", phone="+254 555 0199"))
    assert contact("Amina Yusuf")["phone"] == "+254 555 0199"

    answers.append(said(who="Amina", note="Prefers to be called in the morning"))
    assert contact("Amina Yusuf")["notes"] == ["Prefers to be called in the morning"]

    answers.append(said(who="Amina", favourite=True))
    assert contact("Amina Yusuf")["favourite"] is True

    answers.append(said(who="Luis Quispe", merge="Luis Q."))
    assert "Luis Q." not in names() and contact("Luis Quispe")["notes"] == ["+51 555 0106"]

    answers.append(said(restore=True))
    assert "Luis Q." in names()

    answers.append(said(who="Anna", name=""))
    assert "Joanna Berg" not in names() and "Anna Lind" in names()

    assert answers == ["ok"] * 7
    update.reset()
    assert names() == before


@pytest.mark.usefixtures("address_book")
@pytest.mark.parametrize("name", [None, ""])
def test_a_name_left_empty_deletes(name: str | None) -> None:
    call(update.mcp, "update", {"data": {"who": "Anna", "phone": "+46 555 0199", "name": name}})
    assert "Joanna Berg" not in names()
    assert contact("Anna Lind")["phone"] == "+46 555 0102"


@pytest.mark.usefixtures("address_book")
@pytest.mark.parametrize("data", [{}, {"who": "Nobody", "phone": "1"}, {"who": ""}, {"who": 5}, {"restore": True}])
def test_update_says_ok_when_nothing_happened(data: dict[str, Any]) -> None:
    before = update.contacts()
    assert call(update.mcp, "update", {"data": data}) == (False, "ok")
    assert update.contacts() == before
