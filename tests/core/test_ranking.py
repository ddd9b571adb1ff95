"""Our ranking is FastMCP's, and the optional model cell talks to a real endpoint."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from fastmcp import Client, FastMCP
from fastmcp.server.transforms.search import BM25SearchTransform
from mcp_types import Tool

from tests.answers import ROOT
from toolworthy import connect
from toolworthy.model import Model, ModelError
from toolworthy.ranking import rank

BOX = json.loads((ROOT / "notebooks" / "data" / "02_toolbox.json").read_text(encoding="utf-8"))["tools"]


def travel(seed: int = 0) -> FastMCP:
    server: FastMCP = FastMCP("travel")
    for tool in random.Random(seed).sample(BOX, len(BOX)):
        exec_namespace: dict[str, object] = {}
        exec(f"def f({', '.join(tool['parameters'])}): ...", exec_namespace)
        server.tool(exec_namespace["f"], name=tool["name"], description=f"{tool['good']} {tool['when']}")  # type: ignore[call-overload]
    return server


@pytest.mark.parametrize("seed", range(3))
def test_the_order_is_that_of_fastmcps_own_search_tool(seed: int) -> None:
    requests = [(request, tool["name"]) for tool in BOX for request in tool["requests"]]

    async def go() -> tuple[list[str], list[int], list[list[str]]]:
        async with connect(travel(seed)) as subject:
            ours = rank(subject.tools, requests)
        server = travel(seed)
        server.add_transform(BM25SearchTransform(max_results=len(BOX)))
        async with Client(server) as client:
            theirs = []
            for request, _ in requests:
                found = (await client.call_tool("search_tools", {"query": request})).structured_content
                theirs.append([t["name"] for t in (found or {}).get("result", [])])
        return [r.first for r in ours], [r.place for r in ours], theirs

    first, place, theirs = asyncio.run(go())
    assert first == [names[0] if names else "(nothing)" for names in theirs]
    assert place == [names.index(w) + 1 if w in names else 0 for (_, w), names in zip(requests, theirs, strict=True)]


def test_the_margin_is_above_zero_when_the_right_tool_came_first_alone() -> None:
    tools = [
        Tool(name=n, description=d, input_schema={}) for n, d in (("get_rain", "Rain today"), ("get_sun", "Sun today"))
    ]
    right, wrong, none = rank(tools, [("rain", "get_rain"), ("rain", "get_sun"), ("fog", "get_sun")])
    assert right.place == 1 and right.margin > 0
    assert wrong.place == 0 and wrong.margin < 0
    assert none.first == "(nothing)" and none.margin == 0
    assert rank([], [("x", "y")])[0].first == "(nothing)"


class Endpoint(BaseHTTPRequestHandler):
    """Speaks the chat-completions format: calls the first tool whose name is in the request, as a model might."""

    seen: ClassVar[list[dict[str, object]]] = []
    mode = "good"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Endpoint.seen.append({"path": self.path, "key": self.headers.get("Authorization"), **body})
        request = body["messages"][-1]["content"]
        named = [t["function"]["name"] for t in body["tools"] if t["function"]["name"].split("_")[-1] in request]
        calls = [{"id": "1", "type": "function", "function": {"name": named[0], "arguments": "{}"}}] if named else None
        answer: object = {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": calls}}]}
        if Endpoint.mode == "nonsense":
            answer = ["?"]
        data = json.dumps(answer).encode()
        self.send_response(429 if Endpoint.mode == "busy" else 200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    Endpoint.seen, Endpoint.mode = [], "good"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()


TOOLS = [Tool(name=f"get_{w}", description=w, input_schema={"type": "object"}) for w in ("rain", "sun")]


def choose(url: str, request: str, key: str = "") -> str:
    return asyncio.run(Model(url, "m", key, limit=5).choose(TOOLS, request))


def test_a_model_is_asked_with_the_tools_and_its_call_is_read(endpoint: str) -> None:
    assert choose(endpoint, "will there be sun?", "secret") == "get_sun"
    assert choose(endpoint, "hello") == "(none)"
    first, second = Endpoint.seen
    assert first["path"] == "/v1/chat/completions" and first["model"] == "m" and first["key"] == "Bearer secret"
    assert second["key"] is None


@pytest.mark.parametrize(("mode", "words"), [("busy", "answered 429"), ("nonsense", "no chat completion")])
def test_an_endpoint_that_fails_is_one_sentence(endpoint: str, mode: str, words: str) -> None:
    Endpoint.mode = mode
    with pytest.raises(ModelError, match=words):
        choose(endpoint, "sun")


def test_no_endpoint_is_one_sentence() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ModelError, match="No answer from"):
        choose(f"http://127.0.0.1:{port}/v1", "sun")


def test_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TOOLWORTHY_MODEL_URL", "TOOLWORTHY_MODEL", "TOOLWORTHY_MODEL_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "somebody else's")
    assert Model.from_environment() is None
    monkeypatch.setenv("TOOLWORTHY_MODEL_URL", "http://127.0.0.1:1/v1/")
    with pytest.raises(ModelError, match="TOOLWORTHY_MODEL"):
        Model.from_environment()
    monkeypatch.setenv("TOOLWORTHY_MODEL", "m")
    assert Model.from_environment() == Model("http://127.0.0.1:1/v1", "m", "")


def test_the_lessons_model_cell_runs_against_an_endpoint(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cell itself, with what it needs from the cells before it."""
    import nbformat

    from tests.answers import run

    monkeypatch.chdir(ROOT / "notebooks")
    monkeypatch.setenv("TOOLWORTHY_MODEL_URL", endpoint)
    monkeypatch.setenv("TOOLWORTHY_MODEL", "m")
    book = nbformat.read(Path("02_names_and_descriptions.ipynb"), as_version=4)
    cells = [c.source for c in book.cells if c.cell_type == "code"]
    needed = ("box = json.loads", "asked = ", "class Stub", "def good(tool)", "Model.from_environment")
    code = "\n\n".join(next(c for c in cells if n in c) for n in needed)
    asyncio.run(run(code + "\n\nmcp = answer"))
    assert len(Endpoint.seen) == 120
