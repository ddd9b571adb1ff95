"""Our servers against the protocol's own conformance suite, over HTTP, in both eras.

The suite is made for SDKs: most of its scenarios call tools such as `test_simple_text`. Named here are those that say
something about any server. It can't be asked for several by name, so all that it has run at a revision, in one
process; what it wrote about the named ones is read, and its exit code is not. Left out, beside those whose tool,
prompt or resource isn't there:

- green without having looked: tools-call-simple-text, tools-call-error and input-required-result-ignore-extra-params
  take the answer "unknown tool" for what they wanted; input-required-result-validate-input and, at 2026-07-28,
  server-sse-multiple-streams are satisfied by `{}` (test_why_two_scenarios_are_left_out)
- for what our servers don't offer: completions, subscriptions, tasks, skills, headers taken from arguments
- revision 2025-06-18: asked for it, the suite's client says 2025-11-25 in its handshake all the same
"""

from __future__ import annotations

import http.server
import json
import re
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.servers import node
from tests.servers.node import installed  # noqa: F401  (a fixture)
from tests.servers.running import SERVERS, http_server

pytestmark = pytest.mark.usefixtures("installed")

SERVERS_UNDER_TEST = [SERVERS / "weather/described.py"]
# The suite makes more calls a minute than servers/flights.py lets through.
UNGUARDED = {"TOOLWORTHY_RATE": "100000", "TOOLWORTHY_QUOTA": "100000", "TOOLWORTHY_LOOP_CAP": "100000"}

# How many checks of each scenario must have succeeded, those under NOT_COUNTED apart. More is as wrong as less: then
# the suite has changed, and what it checks now wants to be read.
SCENARIOS: dict[str, dict[str, int]] = {
    "2025-11-25": {
        "server-initialize": 3,
        "server-session-lifecycle": 3,
        "server-sse-multiple-streams": 2,
        "ping": 2,
        "logging-set-level": 2,
        "tools-list": 3,
        "resources-list": 2,
        "prompts-list": 2,
        "dns-rebinding-protection": 2,
    },
    "2026-07-28": {
        "server-stateless": 21,
        "http-header-validation": 14,
        "tools-list": 3,
        "resources-list": 2,
        "prompts-list": 2,
        "caching": 7,
        "sep-2164-resource-not-found": 4,
        "input-required-result-unsupported-methods": 2,
        "dns-rebinding-protection": 2,
    },
}

NO_TOOL = "wants the tool test_missing_capability"
VACUOUS = "calls a tool that isn't there: green where that is said in a result, red where it is an error"
NO_SUBSCRIPTIONS = "for servers that announce subscriptions"
# Checks of these scenarios that may also end in another way than SUCCESS, and why.
NOT_COUNTED: dict[tuple[str, str], tuple[str, str]] = {
    ("tools-list", "tools-list-deterministic-order"): ("INFO", "one tool has only one order"),
    ("caching", "sep-2549-resources-read-caching-hints"): ("SKIPPED", "no resource to read"),
    ("server-stateless", "sep-2575-server-rejects-undeclared-capability"): ("FAILURE", NO_TOOL),
    ("server-stateless", "sep-2575-missing-capability-http-400"): ("FAILURE", NO_TOOL),
    ("server-stateless", "sep-2575-http-server-no-independent-requests-on-stream"): ("FAILURE", VACUOUS),
    ("server-stateless", "sep-2575-server-no-log-without-loglevel"): ("FAILURE", VACUOUS),
    ("server-stateless", "sep-2575-server-sends-subscription-ack"): ("SKIPPED", NO_SUBSCRIPTIONS),
    ("server-stateless", "sep-2575-server-tags-subscription-id"): ("SKIPPED", NO_SUBSCRIPTIONS),
    ("server-stateless", "sep-2575-server-honors-notification-filter"): ("SKIPPED", NO_SUBSCRIPTIONS),
    ("server-stateless", "sep-2575-server-sends-prompts-list-changed-on-subscription"): ("SKIPPED", NO_SUBSCRIPTIONS),
    ("server-stateless", "sep-2575-server-sends-tools-list-changed-on-subscription"): ("SKIPPED", NO_SUBSCRIPTIONS),
}

# Every message that a server sends, in all scenarios of a revision, is held against the protocol's JSON Schema: also
# the answers about tools, prompts and resources that aren't there. The client's own messages are among those counted.
WIRE = ("wire-schema-valid", "wire-schema-harness-error")
MESSAGES = {"2025-11-25": 145, "2026-07-28": 86}

EACH_SCENARIO = pytest.mark.parametrize(
    ("revision", "scenario"), [(revision, name) for revision, names in SCENARIOS.items() for name in names]
)
EACH_REVISION = pytest.mark.parametrize("revision", SCENARIOS)


@dataclass(frozen=True)
class Check:
    id: str
    status: str
    message: str
    messages: int

    def __str__(self) -> str:
        return f"{self.id}: {self.status} {self.message}".strip()


Results = dict[str, dict[str, list[Check]]]  # by revision and scenario


def examine(url: str, folder: Path) -> Results:
    """What the suite finds at a URL. Both revisions run at once: much of it is waiting."""

    def at(revision: str) -> dict[str, list[Check]]:
        out = folder / revision
        options = ["--url", url, "--suite", "all", "--spec-version", revision, "--output-dir", str(out)]
        done = node.run(node.CONFORMANCE, "server", *options, timeout=180)
        assert "=== SUMMARY ===" in done.stdout, f"the suite broke off:\n{done.stdout[-2000:]}\n{done.stderr}"
        return {_scenario(file): _checks(file) for file in out.glob("*/checks.json")}

    with ThreadPoolExecutor() as pool:
        return dict(zip(SCENARIOS, pool.map(at, SCENARIOS), strict=True))


def _scenario(file: Path) -> str:
    """The suite names a folder after the scenario and the time: server-ping-2026-12-01T01-02-37-655Z."""
    name = re.fullmatch(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z", file.parent.name)
    assert name, file
    return name[1]


def _checks(file: Path) -> list[Check]:
    return [
        Check(
            each["id"],
            each["status"],
            each.get("errorMessage") or "",
            (each.get("details") or {}).get("messagesValidated", 0),
        )
        for each in json.loads(file.read_text("utf-8"))
    ]


def faults(results: Results, revision: str, scenario: str) -> list[str]:
    """What is wrong with a scenario: each check that didn't succeed, and when too few or too many did."""
    found, succeeded = [], 0
    for check in results[revision].get(scenario, []):
        other, _ = NOT_COUNTED.get((scenario, check.id), ("", ""))
        if check.status not in ("SUCCESS", other):
            found.append(str(check))
        succeeded += check.status == "SUCCESS" and not other
    wanted = SCENARIOS[revision][scenario]
    return found if succeeded == wanted else [*found, f"{succeeded} checks succeeded, not {wanted}"]


def wire_faults(results: Results, revision: str) -> list[str]:
    """The same for the messages of all scenarios, named here or not."""
    checks = [check for checks in results[revision].values() for check in checks if check.id in WIRE]
    found = [str(check) for check in checks if check.status != "SUCCESS"]
    messages = sum(check.messages for check in checks)
    return found if messages >= MESSAGES[revision] else [*found, f"only {messages} messages were seen"]


@pytest.fixture(scope="module", params=SERVERS_UNDER_TEST, ids=lambda file: file.relative_to(SERVERS).as_posix())
def ours(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, installed: None) -> Results:  # noqa: F811
    home, folder = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("results")
    with http_server(
        request.param, TOOLWORTHY_HOME=str(home), **UNGUARDED, TOOLWORTHY_CALL_LOG=str(home / "log")
    ) as port:
        return examine(f"http://127.0.0.1:{port}/mcp", folder)


@EACH_SCENARIO
def test_it_conforms(ours: Results, revision: str, scenario: str) -> None:
    assert faults(ours, revision, scenario) == []


@EACH_REVISION
def test_every_message_is_as_the_protocol_has_it(ours: Results, revision: str) -> None:
    assert wire_faults(ours, revision) == []


def test_the_suite_still_has_the_checks_that_arent_counted(ours: Results) -> None:
    made = {(name, check.id) for scenarios in ours.values() for name in scenarios for check in scenarios[name]}
    assert NOT_COUNTED.keys() - made == set()


def test_the_programs_are_pinned_by_hash_and_from_no_address() -> None:
    asked = json.loads((node.FOLDER / "package.json").read_text("utf-8"))
    packages = json.loads((node.FOLDER / "package-lock.json").read_text("utf-8"))["packages"]
    assert packages.pop("")["dependencies"] == asked["dependencies"]
    for name, version in asked["dependencies"].items():
        assert packages[f"node_modules/{name}"]["version"] == version
    for name, package in packages.items():
        assert package["integrity"].startswith("sha512-") and "resolved" not in package, name


# --- it can fail -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def nobody(tmp_path_factory: pytest.TempPathFactory, installed: None) -> Results:  # noqa: F811
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and doesn't listen
        return examine(f"http://127.0.0.1:{taken.getsockname()[1]}/mcp", tmp_path_factory.mktemp("results"))


@EACH_SCENARIO
def test_no_server_fails(nobody: Results, revision: str, scenario: str) -> None:
    assert len(faults(nobody, revision, scenario)) > 1, "a fault, and too few checks that succeeded"


class SaysNothing(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_GET = do_DELETE = do_POST

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def nothing(tmp_path_factory: pytest.TempPathFactory, installed: None) -> Iterator[Results]:  # noqa: F811
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), SaysNothing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield examine(f"http://127.0.0.1:{server.server_port}/mcp", tmp_path_factory.mktemp("results"))
        server.shutdown()


@EACH_SCENARIO
def test_a_server_that_says_nothing_fails(nothing: Results, revision: str, scenario: str) -> None:
    assert faults(nothing, revision, scenario) != []


@EACH_REVISION
def test_messages_that_arent_there_or_say_nothing_are_seen(nobody: Results, nothing: Results, revision: str) -> None:
    assert wire_faults(nobody, revision) != []
    assert wire_faults(nothing, revision) != []


@pytest.mark.parametrize("scenario", ["input-required-result-validate-input", "server-sse-multiple-streams"])
def test_why_two_scenarios_are_left_out(nothing: Results, scenario: str) -> None:
    checks = [check for check in nothing["2026-07-28"][scenario] if check.id not in WIRE]
    assert Counter(check.status for check in checks)["FAILURE"] == 0
    assert Counter(check.status for check in checks)["SUCCESS"] > 0


BARE = '''
import sys
from fastmcp import FastMCP

mcp = FastMCP("bare")

@mcp.tool
def double(number: int) -> int:
    """Twice the number."""
    return 2 * number

try:
    mcp.run("http", host="127.0.0.1", port=int(sys.argv[2]), show_banner=False, log_level="CRITICAL")
except KeyboardInterrupt:
    sys.exit(130)
'''


def test_a_server_that_any_web_page_can_call_fails(tmp_path: Path) -> None:
    """FastMCP's own default. It is all that is wrong with this one."""
    file = tmp_path / "bare.py"
    file.write_text(BARE, "utf-8")
    with http_server(file) as port:
        results = examine(f"http://127.0.0.1:{port}/mcp", tmp_path)
    for revision, names in SCENARIOS.items():
        wrong = {name: found for name in names if (found := faults(results, revision, name))}
        assert wrong == {
            "dns-rebinding-protection": [
                "localhost-host-rebinding-rejected: FAILURE Expected HTTP 4xx for invalid Host/Origin headers, got 200",
                "1 checks succeeded, not 2",
            ]
        }
        assert wire_faults(results, revision) == []
