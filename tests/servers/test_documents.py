"""Documents: read part by part, searched within a time limit, and no path that leads out of the folder."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import PythonStdioTransport

from servers.backends import audit, confined, documents, parameters, texts
from servers.backends.errors import Forbidden
from servers.backends.serve import serve
from servers.backends.world import World
from servers.broken import files
from servers.documents import LIBRARY, mcp
from tests.servers.calling import Json, call, fail, listed
from tests.servers.escapes import CANARY, attacks, in_the_library, mutations, through, write
from tests.servers.running import ERAS, SERVERS, Mode, environment, http_server
from toolworthy import audit as checklist

WAYS = pytest.mark.parametrize("down", [True, False], ids=["by_descriptors", "portable"])
POSIX = pytest.mark.skipif(os.name != "posix", reason="needs links, pipes and sockets as POSIX has them")


@pytest.fixture(autouse=True)
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("TOOLWORTHY_DATABASE", f"sqlite:///{tmp_path / 'log.db'}")
    caplog.set_level(logging.CRITICAL, "fastmcp")  # the twin's tracebacks have very long paths in them


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library `public` with two documents, and around it canaries wherever an attack points; like the twin's tree."""
    tree = (tmp_path / "tree").resolve()
    write(tree / "public", {"welcome.txt": "Welcome\n", "notes/menu.txt": "Monday: soup\n"})
    write(tree, dict.fromkeys(CANARIES, CANARY))
    monkeypatch.setenv("TOOLWORTHY_DOCUMENTS", str(tree / "public"))
    monkeypatch.setenv("HOME", str(tree / "home"))
    monkeypatch.chdir(tree)
    return tree


CANARIES = (
    "recipe.txt", "private/recipe.txt", "private/menu.txt", "public-old/recipe.txt", "home/recipe.txt",
    "home/private/recipe.txt", "PUBLIC/recipe.txt",
)  # fmt: skip


def library(tree: Path, **contents: str | bytes) -> None:
    """Put more documents there; `__` in a name stands for `/` and `_` for a full stop."""
    named = {name.replace("__", "/").replace("_", "."): content for name, content in contents.items()}
    write(tree / "public", named)


def answers(target: Any, calls: Iterable[tuple[str, Json]]) -> list[str]:
    """What a host gets for each call, whole, as JSON; none may take longer than ten seconds."""

    async def run() -> list[str]:
        async with Client(target) as client:
            results = [await asyncio.wait_for(client.call_tool_mcp(*each), 10) for each in calls]
            return [result.model_dump_json() for result in results]

    return asyncio.run(run())


def with_path(path: str) -> list[tuple[str, Json]]:
    """Each of the four tools, with this path."""
    return [
        ("list_documents", {"folder": path}),
        ("describe_document", {"path": path}),
        ("read_document", {"path": path}),
        ("search_documents", {"query": "canary", "folder": path}),
    ]


def paths(target: Any = mcp) -> list[str]:
    return [row["path"] for row in call(target, "list_documents", {"limit": 100})["items"]]


def all_pages(tool: str, **arguments: Any) -> list[Json]:
    """What a tool gives when it is called with each next_cursor until there is none."""

    async def run() -> list[Json]:
        pages: list[Json] = []
        async with Client(mcp) as client:
            while not pages or pages[-1]["next_cursor"]:
                cursor = pages[-1]["next_cursor"] if pages else None
                pages.append((await client.call_tool(tool, arguments | {"cursor": cursor})).structured_content)
        assert all("call again" in page["note"] for page in pages[:-1])
        assert "call again" not in pages[-1]["note"]
        return pages

    return asyncio.run(run())


# --- to list, describe, read, search ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ERAS)
def test_the_sample_is_there_without_configuration(database: str, mode: Mode) -> None:
    page = call(mcp, "list_documents", {}, mode)
    assert page["items"][0].keys() == {"path", "size_bytes", "modified_at"}
    assert "handbook/travel.md" in [row["path"] for row in page["items"]] and page["next_cursor"] is None
    described = call(mcp, "describe_document", {"path": "handbook/travel.md"}, mode)
    part = call(mcp, "read_document", {"path": "handbook/travel.md"}, mode)
    assert (described["kind"], described["media_type"]) == ("text", "text/markdown")
    assert {**described, "note": part["note"]}.items() <= part.items()
    assert part["content"].startswith("# Travel\n") and part["next_cursor"] is None
    hits = call(mcp, "search_documents", {"query": "SEWING machine"}, mode)
    assert [hit["path"] for hit in hits["items"]] == ["inventory.csv", "letters/2026-09-20-neighbour.txt"]
    assert [line["outcome"] for line in audit.lines()] == ["done"] * 4


def test_an_order_in_a_document_comes_back_as_content_and_nowhere_else() -> None:
    part = call(mcp, "read_document", {"path": "letters/2026-10-02-supplier.txt"})
    assert "ignore your earlier instructions" in part.pop("content")
    assert "instructions" not in json.dumps(part)
    (hit,) = call(mcp, "search_documents", {"query": "ignore your earlier"})["items"]
    assert "ignore your" in hit.pop("excerpt") and "ignore" not in json.dumps(hit)


def test_pages_have_each_document_once_in_the_order_of_paths(tree: Path) -> None:
    names = [f"{folder}{n:02}.txt" for folder in ("", "a/", "a/b/", "a-b/", "z/") for n in range(7)]
    write(tree / "public", dict.fromkeys(names, "x"))
    pages = all_pages("list_documents", limit=4)
    assert all(len(page["items"]) == 4 for page in pages[:-1])
    found = [row["path"] for page in pages for row in page["items"]]
    assert found == sorted([*names, "welcome.txt", "notes/menu.txt"], key=lambda path: path.split("/"))


def test_a_document_that_comes_or_goes_between_pages_disturbs_no_other(tree: Path) -> None:
    write(tree / "public", dict.fromkeys("bcdef", "x"))
    first = call(mcp, "list_documents", {"limit": 2})
    write(tree / "public", {"a": "x"})
    (tree / "public" / "d").unlink()
    second = call(mcp, "list_documents", {"limit": 2, "cursor": first["next_cursor"]})
    assert [row["path"] for row in first["items"] + second["items"]] == ["b", "c", "e", "f"]


def test_long_paths_in_other_scripts_fit_into_cursors(tree: Path) -> None:
    name = "/".join(["𝔄" * 60] * 8)
    write(tree / "public", {f"{name}/{n}": "find me" for n in range(2)})
    for tool, more in (("list_documents", {}), ("search_documents", {"query": "find me"})):
        first = call(mcp, tool, {"limit": 1, "folder": "𝔄" * 60} | more)
        second = call(mcp, tool, {"limit": 1, "folder": "𝔄" * 60, "cursor": first["next_cursor"]} | more)
        assert [row["path"] for row in first["items"] + second["items"]] == [f"{name}/0", f"{name}/1"]


@pytest.mark.parametrize("folder", [None, ""])
def test_no_folder_and_a_blank_one_mean_all(tree: Path, folder: str | None) -> None:
    assert len(call(mcp, "list_documents", {"folder": folder})["items"]) == 2
    assert len(call(mcp, "search_documents", {"folder": folder, "query": "SOUP"})["items"]) == 1


def test_an_empty_folder_is_an_answer_and_no_error(tree: Path) -> None:
    (tree / "public" / "empty").mkdir()
    for tool, more in (("list_documents", {}), ("search_documents", {"query": "x"})):
        page = call(mcp, tool, {"folder": "empty"} | more)
        assert (page["items"], page["next_cursor"]) == ([], None) and page["note"]


@POSIX
def test_the_folder_is_whatever_the_variable_names_also_a_link(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "link").symlink_to("public", target_is_directory=True)
    monkeypatch.setenv("TOOLWORTHY_DOCUMENTS", str(tree / "link"))
    assert paths() == ["notes/menu.txt", "welcome.txt"]


# --- parts -----------------------------------------------------------------------------------------------------------


def lines_of(letters: str) -> str:
    return "".join(f"{n} {letters * (n % 9)}\r\n" for n in range(5_000))


TEXTS = {
    "ascii": lines_of("some words"),
    "vietnamese": lines_of("Trần Thị Ngọc"),
    "four bytes": lines_of("🥁𝔄"),
    "one line": "é€𝔄" * 40_000,
    "one line, off by one": "x" + "é€𝔄" * 40_000,
    "accents apart": "e\u0301\u0323" * 60_000,
    "families": "👩‍👩‍👧‍👦" * 12_000,
    "skin": "👍🏽" * 40_000,
    "only CR LF": "\r\n" * 90_000,
    "CR CR LF LF": "\r\r\n\n" * 50_000,
    "old Mac": "line\r" * 50_000,
    "marks only": "\u0301" * 80_000,
    "BOM": "\ufeff" + lines_of("x"),
    "controls": "\x1b[31m\x07\u202e\U000e0041" * 20_000,
    "exactly one part": "x" * 100_000,
    "one byte more": "x" * 100_001,
    "one": "x",
    "none": "",
}


@pytest.mark.parametrize("name", TEXTS)
def test_parts_joined_are_the_file_to_the_byte(tree: Path, name: str) -> None:
    data = TEXTS[name].encode()
    library(tree, a_txt=data)
    parts = all_pages("read_document", path="a.txt")
    assert "".join(part["content"] for part in parts).encode() == data
    assert len(parts) >= len(data) / 100_000
    assert parts[0]["begin_byte"] == 0 and parts[-1]["end_byte"] == len(data) == parts[0]["text_bytes"]
    for part, following in zip(parts, [*parts[1:], None], strict=True):
        size = part["end_byte"] - part["begin_byte"]
        assert size == len(part["content"].encode()) <= 100_000
        if following:
            assert size > 49_900 and following["begin_byte"] == part["end_byte"]


@pytest.mark.parametrize("name", ["ascii", "vietnamese", "four bytes", "only CR LF"])
def test_parts_end_with_a_line_where_there_are_lines(tree: Path, name: str) -> None:
    library(tree, a_txt=TEXTS[name])
    assert all(part["content"].endswith("\r\n") for part in all_pages("read_document", path="a.txt"))


@pytest.mark.parametrize("shift", range(4))
def test_a_long_line_is_cut_between_characters_as_people_see_them(tree: Path, shift: int) -> None:
    for character in ("e\u0301\u0323", "👩‍👩‍👧‍👦", "👍🏽", "❤️", "किं"):
        library(tree, a_txt="x" * shift + character * (110_000 // len(character.encode())))
        for part in all_pages("read_document", path="a.txt")[1:]:
            first = part["content"][0]
            assert first not in "\u200d🏽" and not unicodedata.category(first).startswith("M"), (character, first)


def test_cr_and_lf_stay_together_where_no_line_end_is_in_reach(tree: Path) -> None:
    text = "x" * 99_999 + "\r\n" + "y" * 60_000
    library(tree, a_txt=text)
    assert [len(part["content"]) for part in all_pages("read_document", path="a.txt")] == [99_999, 60_002]


def test_random_texts_in_small_parts_are_put_together_again(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "PART_BYTES", 7)
    rng = random.Random(1)
    for _ in range(10):
        text = "".join(rng.choices("ab é\u0301\u200d👍🏽👩€\r\n\n\ufeff", k=rng.randrange(40)))
        library(tree, a_txt=text)
        parts = all_pages("read_document", path="a.txt")
        assert "".join(part["content"] for part in parts) == text
        assert all(len(part["content"].encode()) <= 7 for part in parts)


@pytest.mark.parametrize(
    ("data", "kind", "encoding", "text", "undecodable"),
    [
        (b"plain", "text", "utf-8", "plain", 0),
        ("\ufeffmark".encode(), "text", "utf-8", "\ufeffmark", 0),
        ("\ufeffdấu".encode("utf-16-le"), "text", "utf-16-le", "\ufeffdấu", 0),
        ("\ufeffdấu".encode("utf-16-be"), "text", "utf-16-be", "\ufeffdấu", 0),
        (b"one bad byte \xe9 here", "text", "utf-8", "one bad byte \ufffd here", 1),
        (b"cut off \xe2\x82", "text", "utf-8", "cut off \ufffd\ufffd", 2),
        (b"half a pair \xed\xa0\x80", "text", "utf-8", "half a pair \ufffd\ufffd\ufffd", 3),
        (b"overlong \xc0\xae\xc0\xae", "text", "utf-8", "overlong " + "\ufffd" * 4, 4),
        ("dấu".encode("utf-16-le"), "binary", None, None, 0),  # no mark, so nobody knows
        ("\ufeffdấu".encode("utf-16-le")[:-1], "binary", None, None, 0),
        ("\ufeffdấu".encode("utf-32-le"), "binary", None, None, 0),
        ("Привет, как дела".encode("cp1251"), "binary", None, None, 0),
        (b"text and \0", "binary", None, None, 0),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary", None, None, 0),
    ],
)
def test_what_bytes_are(
    tree: Path, data: bytes, kind: str, encoding: str | None, text: str | None, undecodable: int
) -> None:
    library(tree, a_txt=data)
    part = call(mcp, "read_document", {"path": "a.txt"})
    seen = (part["kind"], part["encoding"], part["content"], part["undecodable_bytes"])
    assert seen == (kind, encoding, text, undecodable)
    assert part["size_bytes"] == len(data)
    assert part["text_bytes"] == (None if text is None else len(text.encode()))
    assert call(mcp, "describe_document", {"path": "a.txt"})["kind"] == kind
    if encoding and not undecodable:
        assert part["content"].encode(encoding) == data


@pytest.mark.parametrize(
    ("name", "media_type"),
    [("a.md", "text/markdown"), ("a.csv", "text/csv"), ("a", "text/plain"), ("a.tar.gz", "application/gzip")],
)
def test_the_type_goes_by_the_name(tree: Path, name: str, media_type: str) -> None:
    write(tree / "public", {name: "x"})
    assert call(mcp, "describe_document", {"path": name})["media_type"] == media_type


def test_over_ten_million_bytes_a_document_is_described_only(tree: Path) -> None:
    needle = "needle in the haystack\n"
    library(tree, at_txt=needle + "x" * (10_000_000 - len(needle)), over_txt=needle + "x" * 10_000_000)
    assert call(mcp, "read_document", {"path": "at.txt"})["kind"] == "text"
    part = call(mcp, "read_document", {"path": "over.txt"})
    described = call(mcp, "describe_document", {"path": "over.txt"})
    assert (part["kind"], part["content"], part["next_cursor"]) == ("too_large", None, None)
    assert described.items() <= part.items()  # and the same note
    assert described["size_bytes"] == 10_000_000 + len(needle) and "10,000,000 bytes" in described["note"]
    hits = call(mcp, "search_documents", {"query": "needle"})
    assert [hit["path"] for hit in hits["items"]] == ["at.txt"]
    assert (hits["searched_documents"], hits["skipped_documents"]) == (3, 1) and "too large" in hits["note"]


def test_a_cursor_is_good_for_its_document_as_it_was(tree: Path) -> None:
    library(tree, a_txt="x" * 150_000, b_txt="x" * 150_000)
    cursor = call(mcp, "read_document", {"path": "a.txt"})["next_cursor"]
    assert call(mcp, "read_document", {"path": "a.txt", "cursor": cursor})["begin_byte"] == 100_000
    wrong = fail(mcp, "read_document", {"path": "b.txt", "cursor": cursor})
    library(tree, a_txt="y" * 150_001)
    assert fail(mcp, "read_document", {"path": "a.txt", "cursor": cursor}) == wrong
    assert wrong["errorCategory"] == "validation" and "Leave it out" in wrong["message"]


@pytest.mark.parametrize("offset", [-1, 1, 100_001, 10**30, "0", None, [0], True])
def test_a_forged_cursor_is_refused(tree: Path, offset: Any) -> None:
    library(tree, a_txt="é" * 50_000)
    info = (tree / "public" / "a.txt").stat()
    version = f"{info.st_size} {info.st_mtime_ns}"
    forged = parameters.write_cursor(offset, {"path": "a.txt", "version": version})
    assert fail(mcp, "read_document", {"path": "a.txt", "cursor": forged})["errorCategory"] == "validation"
    good = parameters.write_cursor(2, {"path": "a.txt", "version": version})
    assert call(mcp, "read_document", {"path": "a.txt", "cursor": good})["begin_byte"] == 2


# --- search ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("SOUP", "Monday: soup"), ("çORBA", "Çorba"), ("istanbul", "İstanbul"), ("ΟΔΟΣ", "Οδος Οδοσα"),
        ("phở", unicodedata.normalize("NFD", "Phở bò")), (unicodedata.normalize("NFD", "phở"), "Phở bò"),
        (".*", "what .* means"), ("(a+)+$", "regex (a+)+$ is text"), ("\\", "back \\ slash"), ("東京", "東京都"),
    ],
)  # fmt: skip
def test_words_are_found_in_any_case_and_as_they_stand(tree: Path, query: str, line: str) -> None:
    library(tree, a_txt=f"nothing\r\n\n{line}\r\nnothing")
    hits = call(mcp, "search_documents", {"query": query})["items"]
    assert {"path": "a.txt", "line": 3, "excerpt": line}.items() <= next(
        hit for hit in hits if hit["path"] == "a.txt"
    ).items()


@pytest.mark.parametrize("query", ["s.up", "soup$", "Monday:  soup", "Monday soup"])
def test_words_that_are_not_there_are_not_found(tree: Path, query: str) -> None:
    page = call(mcp, "search_documents", {"query": query})
    assert (page["items"], page["next_cursor"], page["searched_documents"]) == ([], None, 2)


@pytest.mark.parametrize("at", [0, 1, 40, 150, 5_000, 9_980])
def test_an_excerpt_is_at_most_200_characters_with_the_words_in_it(tree: Path, at: int) -> None:
    library(tree, a_txt="İ" * at + "Needle" + "ß" * (10_000 - at))
    (hit,) = call(mcp, "search_documents", {"query": "nEEDLE"})["items"]
    assert "Needle" in hit["excerpt"] and len(hit["excerpt"]) <= 200


def test_case_never_moves_a_character() -> None:
    assert all(len(texts._lower(chr(number))) == 1 for number in range(0x110000))


def test_a_hit_leads_to_its_line(tree: Path) -> None:
    library(tree, a_txt=b"\xe9\n" + "é\n".encode() * 100_000 + b"Needle\nafter\nneedle too")
    first, second = call(mcp, "search_documents", {"query": "needle"})["items"]
    assert (first["line"], second["line"]) == (100_002, 100_004)
    part = call(mcp, "read_document", {"path": "a.txt", "cursor": first["cursor"]})
    assert part["content"] == "Needle\nafter\nneedle too"
    part = call(mcp, "read_document", {"path": "a.txt", "cursor": second["cursor"]})
    assert part["content"] == "needle too"


@pytest.mark.parametrize("limit", [2, 7, 100])
def test_pages_of_a_search_have_each_line_once(tree: Path, limit: int) -> None:
    shutil.rmtree(tree / "public" / "notes")
    lines = {f"{name}.txt": [n for n in range(1, 40) if n % 3 != len(name)] for name in ("a", "b/c", "b")}
    write(
        tree / "public",
        {
            name: "\n".join("has a Word, and a word" if n in numbers else "-" for n in range(1, 40))
            for name, numbers in lines.items()
        },
    )
    pages = all_pages("search_documents", query="word", limit=limit)
    found = [(hit["path"], hit["line"]) for page in pages for hit in page["items"]]
    assert sorted(found) == sorted((name, n) for name, numbers in lines.items() for n in numbers)
    assert len(set(found)) == len(found) and all(len(page["items"]) == limit for page in pages[:-1])


def test_a_search_ends_in_time_and_goes_on_where_it_ended(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tree / "public", {f"{n:02}.txt": "word\n" for n in range(20)} | {"binary": b"\0"})
    monkeypatch.setattr(documents, "SEARCH_SECONDS", -1.0)
    pages = all_pages("search_documents", query="word")
    assert [len(page["items"]) for page in pages] == [1] * 20 + [0] * 3
    assert [page["searched_documents"] + page["skipped_documents"] for page in pages] == [1] * 23


@pytest.mark.parametrize(
    "text",
    ["a\n" * 5_000_000, "a" * 10_000_000, "a" + "\u0315\u0300" * 2_499_999, "ab" * 5_000_000],
    ids=["short lines", "one letter", "marks out of order", "nearly"],
)
def test_no_document_makes_a_search_slow(tree: Path, text: str) -> None:
    library(tree, a_txt=text)
    for query in ("a", "é", "a" * 99 + "b", "b" + "a" * 99, "ab" * 49 + "c"):
        began = time.perf_counter()
        call(mcp, "search_documents", {"query": query, "limit": 100})
        assert time.perf_counter() - began < 4, query


def test_a_changed_document_is_searched_again_from_its_beginning(tree: Path) -> None:
    library(tree, a_txt="word\n" * 4)
    page = call(mcp, "search_documents", {"query": "word", "limit": 3})
    library(tree, a_txt="new first line\n" + "word\n" * 4)
    page = call(mcp, "search_documents", {"query": "word", "limit": 3, "cursor": page["next_cursor"]})
    assert [hit["line"] for hit in page["items"]] == [2, 3, 4]


@pytest.mark.parametrize("place", [["a"], ["a", "", -1, 1], ["a", "", 0, 0], [1, "", 0, 1], ["a", "", "0", 1], "a"])
def test_a_forged_cursor_of_a_search_is_refused(tree: Path, place: Any) -> None:
    forged = parameters.write_cursor(place, {"query": "x", "folder": None})
    assert fail(mcp, "search_documents", {"query": "x", "cursor": forged})["errorCategory"] == "validation"


def test_a_forged_cursor_leads_nowhere_else(tree: Path) -> None:
    for place in ("../private", "/", "..", "\0", "notes/.."):
        forged = parameters.write_cursor(place, {"folder": None})
        assert CANARY not in answers(mcp, [("list_documents", {"cursor": forged})])[0]
        forged = parameters.write_cursor([place, "", 0, 1], {"query": "canary", "folder": None})
        page = call(mcp, "search_documents", {"query": "canary", "cursor": forged})
        assert page["items"] == []


# --- no way out ------------------------------------------------------------------------------------------------------


def assert_nothing_got_out(texts: Iterable[str], tree: Path) -> None:
    for text in texts:
        for secret in (CANARY, "recipe", "private", str(tree), "root:", "passwd", "HOME="):
            assert secret not in text, (secret, text[:300])


def summaries() -> list[str]:
    """The audit log without what the callers themselves sent."""
    return [json.dumps(line | {"arguments": None}, default=str) for line in audit.lines()]


@POSIX
@WAYS
def test_no_path_leads_out_or_tells_what_is_outside(tree: Path, monkeypatch: pytest.MonkeyPatch, down: bool) -> None:
    monkeypatch.setattr(confined, "_FROM_THE_FOLDER_DOWN", down)
    by_links = in_the_library(tree)
    every = [*attacks(tree), *by_links] if down else by_links  # `find` is the same both ways
    calls = [each for path in every for each in with_path(path) if each[1].get("folder") != ""]
    there = answers(mcp, calls)
    assert_nothing_got_out(there, tree)
    assert_nothing_got_out(summaries(), tree)
    for each, answer in zip(calls, there, strict=True):
        assert json.loads(answer)["is_error"] is True, (each, answer)
        category = json.loads(answer)["structured_content"]["errorCategory"]
        # Half a character can't even be passed on by FastMCP, so there it is "internal".
        assert category == "validation" or re.search("\\\\ud[89a-f]", json.dumps(each)), (each, answer)

    for name in CANARIES:  # whether there is something outside makes no difference to any answer
        (tree / name).unlink()
    for folder in ("private", "public-old", "home/private", "PUBLIC"):
        (tree / folder).rmdir()
    some = [n for n in range(len(calls)) if n % 4 == n // 4 % 4 and "traceId" not in there[n]]
    assert answers(mcp, [calls[n] for n in some]) == [there[n] for n in some]


@POSIX
@WAYS
def test_what_is_no_document_is_neither_listed_nor_searched(
    tree: Path, monkeypatch: pytest.MonkeyPatch, down: bool
) -> None:
    monkeypatch.setattr(confined, "_FROM_THE_FOLDER_DOWN", down)
    in_the_library(tree)
    assert paths() == ["notes/menu.txt", "welcome.txt"]
    page = call(mcp, "search_documents", {"query": "canary"})
    assert (page["items"], page["searched_documents"], page["skipped_documents"]) == ([], 2, 0)


@POSIX
def test_a_link_to_a_document_of_the_library_leads_there(tree: Path) -> None:
    for name, goal in {"today.txt": "notes/menu.txt", "n": "notes", "absolute": str(tree / "public" / "notes")}.items():
        (tree / "public" / name).symlink_to(goal)
    (tree / "public" / "notes" / "back").symlink_to("..")
    for path in ("today.txt", "n/menu.txt", "absolute/menu.txt", "n/back/notes/back/today.txt"):
        part = call(mcp, "read_document", {"path": path})
        assert (part["path"], part["content"]) == ("notes/menu.txt", "Monday: soup\n")
    assert paths() == ["notes/menu.txt", "welcome.txt"]
    assert [row["path"] for row in call(mcp, "list_documents", {"folder": "n"})["items"]] == ["notes/menu.txt"]


def test_names_that_only_look_dangerous_are_names(tree: Path) -> None:
    names = ["%2e%2e", "~", "a..b", "x…", "CON.txt", "ノート.txt", "नमस्ते\u200d.txt", "(1) & $HOME;'\".txt"]
    if os.name == "posix":
        names += ["..\\private\\recipe.txt"[2:], "C:", "a\\b", "trailing. ", " leading", "file.txt::$DATA"]
    write(tree / "public", {name: f"I am {name}" for name in names})
    assert set(names) <= set(paths())
    for name in names:
        assert call(mcp, "read_document", {"path": name})["content"] == f"I am {name}"


def test_a_name_is_found_however_its_accents_are_stored(tree: Path) -> None:
    stored = unicodedata.normalize("NFD", "thực đơn.txt")
    write(tree / "public", {stored: "phở"})
    for form in ("NFC", "NFD"):
        part = call(mcp, "read_document", {"path": unicodedata.normalize(form, stored)})
        assert part["content"] == "phở" and unicodedata.normalize("NFD", part["path"]) == stored


@POSIX
def test_without_the_look_up_the_canary_would_be_seen(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confined.Confined, "find", lambda self, path: tuple(path.split("/")))
    (answer,) = answers(mcp, [("read_document", {"path": "../private/recipe.txt"})])
    with pytest.raises(AssertionError):
        assert_nothing_got_out([answer], tree)


def test_the_twin_lets_the_same_paths_through_and_only_into_its_own_tree() -> None:
    tree = files.tree()
    every = list(dict.fromkeys([*attacks(tree), "shared/recipe.txt"]))
    got = dict(zip(every, answers(files.mcp, [("read_file", {"path": path}) for path in every]), strict=True))
    escaped = {path for path, text in got.items() if files.SECRET in text}
    if sys.platform == "linux":
        assert escaped == through(tree)
    assert {"notes/../../private/recipe.txt", "%2e%2e/private/recipe.txt"} <= escaped
    assert not any("root:" in text for text in got.values()), "it must stay harmless"
    assert "is not allowed" in got["../private/recipe.txt"]


def test_the_twin_tells_where_it_is_and_what_there_is_outside() -> None:
    (inside,) = answers(files.mcp, [("read_file", {"path": "missing.txt"})])
    assert files.tree().name in inside
    there, missing = answers(
        files.mcp, [("read_file", {"path": f"notes/../../private/{name}"}) for name in ("recipe.txt", "none.txt")]
    )
    assert "No such file" not in there and "No such file" in missing


@POSIX
def test_no_random_path_leads_out(tree: Path) -> None:
    for name, goal in {"folder": "../private", "up": "..", "link": "../private/recipe.txt"}.items():
        (tree / "public" / name).symlink_to(goal)
    calls = [with_path(path)[n % 4] for n, path in enumerate(mutations(300, tree))]
    assert_nothing_got_out([*answers(mcp, calls), *summaries()], tree)
    got = answers(files.mcp, [("read_file", {"path": path}) for path in mutations(200, files.tree())])
    assert sum(files.SECRET in text for text in got) > 40, "too tame to prove anything"


# --- swapped between the look and the opening ------------------------------------------------------------------------


def swap_file(tree: Path) -> None:
    (tree / "public" / "notes" / "menu.txt").unlink()
    (tree / "public" / "notes" / "menu.txt").symlink_to("../../private/menu.txt")


def swap_folder(tree: Path) -> None:
    (tree / "public" / "notes").rename(tree / "public" / "moved")
    (tree / "public" / "notes").symlink_to("../private", target_is_directory=True)


def swap_for_a_pipe(tree: Path) -> None:
    (tree / "public" / "notes" / "menu.txt").unlink()
    os.mkfifo(tree / "public" / "notes" / "menu.txt")


@POSIX
@WAYS
@pytest.mark.parametrize("swap", [swap_file, swap_folder, swap_for_a_pipe])
def test_what_is_swapped_for_a_link_once_it_was_found_is_not_opened(
    tree: Path, monkeypatch: pytest.MonkeyPatch, down: bool, swap: Any
) -> None:
    monkeypatch.setattr(confined, "_FROM_THE_FOLDER_DOWN", down)
    find = confined.Confined.find

    def found_and_swapped(self: confined.Confined, path: str) -> confined.Parts:
        parts = find(self, path)
        swap(tree)
        return parts

    monkeypatch.setattr(confined.Confined, "find", found_and_swapped)
    assert_not_opened(tree, swap)


@POSIX
@WAYS
@pytest.mark.parametrize("swap", [swap_file, swap_folder])
def test_nor_when_it_is_swapped_between_the_last_look_and_the_opening(
    tree: Path, monkeypatch: pytest.MonkeyPatch, down: bool, swap: Any
) -> None:
    monkeypatch.setattr(confined, "_FROM_THE_FOLDER_DOWN", down)
    look, swaps = confined._look, iter([swap])

    def looked_and_swapped(name: str | Path, folder: int | None = None) -> os.stat_result | None:
        info = look(name, folder)
        if Path(name).name == "menu.txt":
            next(swaps, lambda _: None)(tree)
        return info

    monkeypatch.setattr(confined, "_look", looked_and_swapped)
    if swap is swap_folder and down:  # the folder is open already: its file may be read, and nothing else
        assert call(mcp, "read_document", {"path": "notes/menu.txt"})["content"] == "Monday: soup\n"
    else:
        assert_not_opened(tree, swap)


@POSIX
def test_nor_when_it_is_swapped_for_the_opening_only(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confined, "_FROM_THE_FOLDER_DOWN", False)
    menu, spare, open_ = tree / "public" / "notes" / "menu.txt", tree / "spare", os.open

    def swapped_and_back(path: Any, *more: Any, **options: Any) -> int:
        if path != menu:
            return open_(path, *more, **options)
        menu.rename(spare)
        menu.symlink_to("../../private/menu.txt")
        descriptor = open_(path, *more, **options)
        spare.rename(menu)
        return descriptor

    monkeypatch.setattr(os, "open", swapped_and_back)
    failure = fail(mcp, "read_document", {"path": "notes/menu.txt"})
    assert_nothing_got_out([json.dumps(failure)], tree)
    assert menu.read_text() == "Monday: soup\n"


def assert_not_opened(tree: Path, swap: Any) -> None:
    (answer,) = answers(mcp, [("read_document", {"path": "notes/menu.txt"})])
    assert_nothing_got_out([answer], tree)
    assert json.loads(answer)["is_error"]
    if swap is not swap_for_a_pipe:
        assert (tree / "public" / "notes" / "menu.txt").read_text() == CANARY, "the swap would have worked"


@POSIX
@WAYS
@pytest.mark.parametrize("swap", [swap_file, swap_folder])
def test_nor_while_a_listing_or_a_search_is_under_way(
    tree: Path, monkeypatch: pytest.MonkeyPatch, down: bool, swap: Any
) -> None:
    monkeypatch.setattr(confined, "_FROM_THE_FOLDER_DOWN", down)
    entries = confined.Confined._entries

    def listed_and_swapped(self: confined.Confined, parts: confined.Parts) -> list[confined.Entry]:
        if swap is swap_folder and parts == ("notes",):
            swap(tree)
        found = entries(self, parts)
        if swap is swap_file and parts == ("notes",):
            swap(tree)
        return found

    monkeypatch.setattr(confined.Confined, "_entries", listed_and_swapped)
    (answer,) = answers(mcp, [("search_documents", {"query": "canary"})])
    assert json.loads(answer)["structured_content"]["items"] == []
    assert_nothing_got_out([answer], tree)


@POSIX
def test_swapping_without_end_wins_nothing(tree: Path) -> None:
    menu, spare = tree / "public" / "notes" / "menu.txt", tree / "spare"
    over = threading.Event()

    def swap_all_the_time() -> None:
        while not over.is_set():
            spare.symlink_to(tree / "private" / "menu.txt")
            spare.rename(menu)
            spare.write_text("Monday: soup\n")
            spare.rename(menu)

    thread = threading.Thread(target=swap_all_the_time)
    thread.start()
    try:
        calls = [("read_document", {"path": "notes/menu.txt"}), ("search_documents", {"query": "canary"})] * 50
        got = answers(mcp, calls)
    finally:
        over.set()
        thread.join()
    assert_nothing_got_out(got, tree)
    assert any("Monday" in text for text in got)


# --- failures --------------------------------------------------------------------------------------------------------


def test_a_library_that_has_gone_is_a_transient_failure(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLWORTHY_DOCUMENTS", str(tree / "gone"))
    for tool, arguments in with_path("welcome.txt"):
        failure = fail(mcp, tool, arguments)
        assert failure["errorCategory"] == "transient" and str(tree) not in json.dumps(failure)


@POSIX
def test_a_document_that_the_server_may_not_read_is_forbidden(monkeypatch: pytest.MonkeyPatch, tree: Path) -> None:
    for folder in [tree, *tree.parents][:-2]:  # all but /tmp and /
        folder.chmod(0o755)
    (tree / "public" / "welcome.txt").chmod(0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65_534)
    try:
        with pytest.raises(Forbidden, match="isn't allowed"):
            documents.read("welcome.txt", None)
        page = documents.search("soup", None, 10, None)
    finally:
        os.seteuid(user)
    assert (len(page["items"]), page["skipped_documents"]) == (1, 1)


@pytest.mark.parametrize("limit", [0, 101, "5", 1.5])
def test_a_wrong_limit_is_refused(tree: Path, limit: Any) -> None:
    assert fail(mcp, "list_documents", {"limit": limit})["errorCategory"] == "validation"


@pytest.mark.parametrize("query", ["", " ", "x" * 101, "a\nb", "\0"])
def test_a_wrong_query_is_refused(tree: Path, query: str) -> None:
    assert fail(mcp, "search_documents", {"query": query})["errorCategory"] == "validation"


# --- hints, checklist, log -------------------------------------------------------------------------------------------


def test_every_tool_reads_only_and_says_the_same_twice(tree: Path, world: World) -> None:
    def state() -> list[tuple[str, int, bytes]]:
        return [(str(file), file.stat().st_mtime_ns, file.read_bytes()) for file in sorted(tree.rglob("*.txt"))]

    before = state()
    calls = [
        ("list_documents", {}),
        ("describe_document", {"path": "welcome.txt"}),
        ("read_document", {"path": "welcome.txt"}),
        ("search_documents", {"query": "o"}),
    ]
    assert answers(mcp, calls) == answers(mcp, calls)
    assert state() == before and world.ledger == ()
    for tool in listed(mcp):
        hints = tool.annotations
        assert hints.read_only_hint and hints.idempotent_hint
        assert hints.destructive_hint is False and hints.open_world_hint is False


def test_the_checklist_finds_nothing() -> None:
    report = asyncio.run(checklist(mcp))
    assert "no violations in 4 tools" in str(report)
    assert all(len(tool.description or "") < 1_000 for tool in listed(mcp))


def test_the_log_has_a_line_for_each_call_and_refusal(tree: Path, database: str) -> None:
    call(mcp, "read_document", {"path": "welcome.txt"})
    fail(mcp, "read_document", {"path": "../private/recipe.txt"})
    fail(mcp, "read_document", {"path": "\0"})
    assert [(line["outcome"], line["error_category"]) for line in audit.lines()] == [
        ("done", None), ("refused", "validation"), ("refused", "validation"),
    ]  # fmt: skip


# --- as a process ----------------------------------------------------------------------------------------------------


@POSIX
def test_over_stdio_no_path_leads_out(tree: Path) -> None:
    every = [*attacks(tree), *in_the_library(tree)]
    env = environment(
        TOOLWORTHY_DATABASE=os.environ["TOOLWORTHY_DATABASE"],
        TOOLWORTHY_DOCUMENTS=str(tree / "public"),
        TOOLWORTHY_SECRET=CANARY,  # in /proc/self/environ
    )
    server = PythonStdioTransport(SERVERS / "documents.py", env=env, cwd=str(tree), keep_alive=False)
    calls = [("read_document", {"path": path}) for path in every if not re.search("[\ud800-\udfff]", path)]
    *refused, read = answers(server, [*calls, ("read_document", {"path": "welcome.txt"})])
    assert_nothing_got_out([*refused, *summaries()], tree)
    assert all(json.loads(text)["is_error"] for text in refused)
    assert json.loads(read)["structured_content"]["content"] == "Welcome\n"


def test_over_http(tree: Path) -> None:
    env = {name: os.environ[name] for name in ("TOOLWORTHY_DATABASE", "TOOLWORTHY_DOCUMENTS")}
    with http_server(SERVERS / "documents.py", **env) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        for mode in ERAS:
            assert call(url, "read_document", {"path": "welcome.txt"}, mode)["content"] == "Welcome\n"
            assert fail(url, "read_document", {"path": "../recipe.txt"}, mode)["errorCategory"] == "validation"


def started(monkeypatch: pytest.MonkeyPatch, *options: str) -> object:
    """The exit status of a server that ends before it serves."""
    monkeypatch.setattr(sys, "argv", ["documents.py", *options])
    with pytest.raises(SystemExit) as stopped:
        serve(mcp, LIBRARY)
    return stopped.value.code


@pytest.mark.parametrize("name", ["gone", "public/welcome.txt"])
def test_without_its_folder_it_does_not_start(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.setenv("TOOLWORTHY_DOCUMENTS", str(tree / name))
    assert started(monkeypatch) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert err.startswith("There is no folder") and "set TOOLWORTHY_DOCUMENTS" in err


def test_help_says_what_it_needs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert started(monkeypatch, "--help") == 0
    assert "TOOLWORTHY_DOCUMENTS" in capsys.readouterr().out


def test_fastmcp_takes_the_file() -> None:
    done = subprocess.run(
        ["fastmcp", "list", str(SERVERS / "documents.py")],
        env=environment(NO_COLOR="1", COLUMNS="120", TOOLWORTHY_DATABASE=os.environ["TOOLWORTHY_DATABASE"]),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0 and "search_documents" in done.stdout, done.stderr
