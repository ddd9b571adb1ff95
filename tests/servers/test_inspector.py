"""Our servers in the protocol's own Inspector, on its command line: it lists and calls what our client does.

Over stdio and HTTP, in both eras. Its exit codes: 0 all is well, 1 it can't use an answer, 4 nobody is there, 5 the
tool said that it failed, 6 (with `--strict`) a schema that some hosts can't take.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp_types import CallToolResult

from tests.servers import node
from tests.servers.calling import listed, raw
from tests.servers.node import installed  # noqa: F401  (a fixture)
from tests.servers.running import ERAS, SERVERS, Mode, environment, http_server

pytestmark = pytest.mark.usefixtures("installed")

Json = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A server, a call that answers the same each time, in each process, and one that the tool refuses."""

    file: str
    tool: str
    arguments: Mapping[str, Any]
    refused: Mapping[str, Any]


CASES = [
    Case("weather/described.py", "get_weather", {"city": "Oslo"}, refused={"city": "Osloo"}),
    Case("issues.py", "list_issues", {"repo": "maplewood/website"}, refused={"repo": "maplewood"}),
]

INSPECTOR_ERAS: dict[Mode, str] = {"legacy": "legacy", "auto": "modern"}  # our client's name for it, the Inspector's
BOTH_ERAS = pytest.mark.parametrize("mode", ERAS)
# Over stdio each costs the start of a server: both eras are seen, and both methods, but not each with each.
HTTP: list[tuple[str, Mode]] = [("http", "legacy"), ("http", "auto")]
TO_LIST: list[tuple[str, Mode]] = [*HTTP, ("stdio", "legacy")]
TO_CALL: list[tuple[str, Mode]] = [*HTTP, ("stdio", "auto")]


@dataclass(frozen=True)
class Served:
    case: Case
    url: str
    home: Path

    def target(self, transport: str) -> list[str]:
        """The same server for the Inspector, over a transport: it starts the file itself, or takes the URL."""
        if transport == "http":
            return [self.url, "--transport", "http"]
        given = environment(**variables(self.home))
        names = ("PYTHONPATH", "FASTMCP_LOG_LEVEL", "FASTMCP_CHECK_FOR_UPDATES", *variables(self.home))
        return [
            sys.executable,
            str(SERVERS / self.case.file),
            *(word for n in names for word in ("-e", f"{n}={given[n]}")),
        ]


def variables(home: Path) -> dict[str, str]:
    return {"TOOLWORTHY_HOME": str(home), "TOOLWORTHY_CALL_LOG": str(home / "calls.jsonl")}


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case.file}:{case.tool}")
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("home")
    with http_server(SERVERS / request.param.file, **variables(home)) as port:
        yield Served(request.param, f"http://127.0.0.1:{port}/mcp", home)


def inspect(home: Path, target: list[str], method: str, *options: str, era: str) -> subprocess.CompletedProcess[str]:
    return node.run(
        node.INSPECTOR,
        *("--cli", *target, "--protocol-era", era, "--method", method, *options, "--quiet", "--format", "json"),
        env=environment(HOME=str(home), USERPROFILE=str(home)),  # where it keeps its own files
    )


def call_options(tool: str, arguments: Mapping[str, Any]) -> list[str]:
    return ["--tool-name", tool, "--tool-args-json", json.dumps(arguments)]


def result(done: subprocess.CompletedProcess[str]) -> Json:
    return json.loads(done.stdout)["result"]


def as_json(said: CallToolResult) -> Json:
    return said.model_dump(mode="json", by_alias=True, exclude_none=True)


@pytest.mark.parametrize(("transport", "mode"), TO_LIST)
def test_it_lists_the_tools(served: Served, transport: str, mode: Mode) -> None:
    done = inspect(served.home, served.target(transport), "tools/list", "--strict", era=INSPECTOR_ERAS[mode])
    assert (done.returncode, done.stderr) == (0, "")
    ours = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed(served.url, mode)]
    assert served.case.tool in [tool["name"] for tool in ours]
    assert result(done)["tools"] == ours


@pytest.mark.parametrize(("transport", "mode"), TO_CALL)
def test_it_calls_one(served: Served, transport: str, mode: Mode) -> None:
    case = served.case
    options = call_options(case.tool, case.arguments)
    done = inspect(served.home, served.target(transport), "tools/call", *options, era=INSPECTOR_ERAS[mode])
    assert (done.returncode, done.stderr) == (0, "")
    theirs, ours = result(done), as_json(raw(served.url, case.tool, case.arguments, mode))
    assert theirs["isError"] is False
    assert (theirs["content"], theirs["structuredContent"]) == (ours["content"], ours["structuredContent"])
    # In the modern era each result says who made it.
    assert ("io.modelcontextprotocol/serverInfo" in theirs.get("_meta", {})) is (mode == "auto")


@BOTH_ERAS
def test_it_sees_a_call_fail(served: Served, mode: Mode) -> None:
    case = served.case
    done = inspect(
        served.home,
        served.target("http"),
        "tools/call",
        *call_options(case.tool, case.refused),
        era=INSPECTOR_ERAS[mode],
    )
    ours = as_json(raw(served.url, case.tool, case.refused, mode))
    assert ours["isError"] is True
    error = json.loads(done.stderr)["error"]
    if fits(served.url, case.tool, ours):
        assert (done.returncode, error["code"]) == (5, "tool_is_error")
        theirs = result(done)
        assert theirs["isError"] is True
        assert theirs["content"] == ours["content"]
    else:
        # It holds a failure, too, against the schema of a success, and shows nothing of it. So do hosts built on the
        # TypeScript SDK 1.x once they have listed the tools (typescript-sdk issue 1943); 2.x doesn't.
        assert (done.returncode, done.stdout, error["code"]) == (1, "", "error")
        assert error["message"].startswith("data must ")


def fits(url: str, tool: str, said: Json) -> bool:
    """Whether the structure of a failure is what the tool's output schema promises, or isn't there at all."""
    (schema,) = [each.output_schema for each in listed(url) if each.name == tool]
    structure = said.get("structuredContent")
    return structure is None or schema is None or Draft202012Validator(schema).is_valid(structure)


# --- it can fail -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", INSPECTOR_ERAS.values())
def test_nobody_at_the_url(tmp_path: Path, era: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and doesn't listen
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
        done = inspect(tmp_path, [url, "--transport", "http"], "tools/list", era=era)
    assert (done.returncode, done.stdout) == (4, "")
    assert json.loads(done.stderr)["error"]["code"] == "unreachable"


@pytest.mark.parametrize("era", INSPECTOR_ERAS.values())
def test_a_program_that_is_no_server(tmp_path: Path, era: str) -> None:
    done = inspect(tmp_path, [sys.executable, "-m", "this"], "tools/list", era=era)
    assert done.returncode not in (0, 5, 6) and done.stdout == ""


NOT_PORTABLE = """
import asyncio
from fastmcp import FastMCP

mcp = FastMCP("odd")

@mcp.tool
def keep(value: str) -> str:
    "Keep any value."
    return value

asyncio.run(mcp.get_tool("keep")).parameters["properties"]["value"] = True
mcp.run(show_banner=False, log_level="CRITICAL")
"""


def test_a_schema_that_some_hosts_cant_take(tmp_path: Path) -> None:
    file = tmp_path / "odd.py"
    file.write_text(NOT_PORTABLE, "utf-8")
    done = inspect(tmp_path, [sys.executable, str(file)], "tools/list", "--strict", era="modern")
    assert done.returncode == 6
    assert "inputSchema.properties.value" in done.stderr
