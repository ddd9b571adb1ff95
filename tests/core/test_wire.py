"""The tape: what is on it, in words, in HTML, over each transport."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from servers.weather.naive import mcp as naive
from toolworthy import Tape, connect


def record(target: object) -> Tape:
    async def go() -> Tape:
        async with connect(target) as subject:
            name = subject.tools[0].name
            await subject.call(name, {"city": "Oslo"} if name == "get_weather" else {"a": 1})
            await subject.call(name, {"nonsense": 1})
        return subject.tape

    return asyncio.run(go())


def test_every_message_is_there_with_its_kind_and_what_it_is_about() -> None:
    tape = record(naive)
    assert [(m.arrow, m.kind, m.about) for m in tape] == [
        ("->", "request", "server/discover"),
        ("<-", "response", "server/discover"),
        ("->", "request", "tools/list"),
        ("<-", "response", "tools/list"),
        ("->", "request", "tools/call get_weather"),
        ("<-", "response", "tools/call get_weather"),
        ("->", "request", "tools/call get_weather"),
        ("<-", "tool error", "tools/call get_weather"),
    ]


def test_over_stdio_the_tape_is_the_same(files: Path) -> None:
    kinds = [m.kind for m in record([sys.executable, str(files / "good.py")])]
    assert kinds == ["request", "response"] * 3 + ["request", "tool error"]


def test_html_says_in_words_what_it_says_in_colour_and_escapes() -> None:
    tape = Tape()
    tape.record("->", {"id": 1, "method": "tools/call", "params": {"name": "<script>alert(1)</script>"}})
    tape.record("<-", {"id": 1, "result": {"isError": True, "content": [{"text": "\u202eevil\x1b[31m"}]}})
    tape.record("<-", {"id": 2, "error": {"code": -32601}})
    html = tape._repr_html_()
    assert "<script>" not in html and "\u202e" not in html and "\x1b" not in html
    for word in ("request #1", "tool error #1", "protocol error #2", "client to server", "server to client"):
        assert word in html
    assert html.count("<details>") == 3


def test_an_empty_tape_says_so() -> None:
    assert "nothing crossed the wire" in repr(Tape())
    assert "Nothing crossed the wire" in Tape()._repr_html_()


@pytest.mark.parametrize("index", [0, -1])
def test_a_part_of_the_tape(index: int) -> None:
    tape = record(naive).about("tools/call")
    assert len(tape) == 4
    assert tape[index].about == "tools/call get_weather"
