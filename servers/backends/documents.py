"""The documents of one folder: what they are, their text part by part, and which lines have some words in them.

The folder is `TOOLWORTHY_DOCUMENTS`, or a sample that comes with this package. What is a document, and what no path
leads to, is decided in `confined`; what is a text, in `texts`. A text is given as it is: all parts of a UTF-8 document
joined are the file, byte for byte, a byte order mark included, unless `undecodable_bytes` says otherwise.
"""

from __future__ import annotations

import mimetypes
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from servers.backends import parameters, texts
from servers.backends.confined import Confined, Parts
from servers.backends.errors import Forbidden, NotFound, UpstreamDown, WrongRequest
from servers.backends.storage import Row

MAX_BYTES = 10_000_000
PART_BYTES = 100_000
SEARCH_SECONDS = 2.0

_SAMPLE = Path(__file__).parent / "library"
_TYPES = mimetypes.MimeTypes()  # Python's own table, not the machine's
_TYPES.add_type("text/markdown", ".md")
_NOTES = {
    "text": f"read_document gives its text, up to {PART_BYTES:,} bytes at a time.",
    "too_large": f"It has more than {MAX_BYTES:,} bytes, so its text is neither sent nor searched. A person can open "
    "it in the library's folder, or put it there in smaller pieces.",
    "binary": "It is no text in UTF-8 or UTF-16, so it is neither sent nor searched. A person can open it in the "
    "library's folder, or put a text version beside it.",
}


def check() -> None:
    """Whether the folder can be used.

    Raises:
        ValueError: It can't; the text says what to do.
    """
    try:
        os.listdir(Confined(_folder()).root)
    except OSError as error:
        raise ValueError(
            f"There is no folder {str(_folder())!r} that can be read: set TOOLWORTHY_DOCUMENTS to one, or leave it out "
            "for the sample documents."
        ) from error


def page(folder: str | None, limit: int, cursor: str | None) -> dict[str, Any]:
    """One page of the documents below a folder (None: all), in the order of their paths: the fields of a Page.

    Raises:
        NotFound: There is no such folder.
    """
    begin = parameters.read_cursor(cursor, str, folder=folder)
    rows: list[Row] = []
    with _library("folder") as library:
        for parts, info in library.walk(_below(library, folder), _parts(begin)):
            rows.append(_row(parts, info))
            if len(rows) > limit:
                break
    return parameters.page(rows, limit, lambda _: rows[limit]["path"], "documents", folder=folder)


def describe(path: str) -> Row:
    """What a document is, without its text.

    Raises:
        NotFound: There is none.
        Forbidden: The server may not read it.
    """
    with _library("document") as library:
        return _load(library, library.find(path))[0]


def read(path: str, cursor: str | None) -> Row:
    """What a document is, with one part of its text: None where it has none to give.

    Raises:
        NotFound: There is none.
        Forbidden: The server may not read it.
        WrongRequest: The cursor belongs to another document, or this one has changed since.
    """
    with _library("document") as library:
        row, text, version = _load(library, library.find(path))
    data = (text or "").encode()
    try:
        begin = parameters.read_cursor(cursor, int, path=row["path"], version=version) or 0
    except WrongRequest:
        begin = -1
    if not 0 <= begin <= len(data) or texts.inside_character(data, begin):
        raise WrongRequest(
            "cursor: it belongs to another document, or this one has changed since. "
            "Leave it out to begin with the first part."
        )
    end = texts.part_end(data, begin, PART_BYTES)
    more = end < len(data)
    if text is not None:
        row["note"] = f"Bytes {begin:,} to {end:,} of {len(data):,}; "
        row["note"] += "for the next part call again with next_cursor." if more else "that is the end."
    return row | {
        "content": None if text is None else data[begin:end].decode(),
        "begin_byte": begin,
        "end_byte": end,
        "next_cursor": _cursor(end, row["path"], version) if more else None,
    }


def search(query: str, folder: str | None, limit: int, cursor: str | None) -> dict[str, Any]:
    """The lines below a folder (None: all) with these words: the fields of a Page, and how many documents were searched
    and skipped for it. Ends after SEARCH_SECONDS; `next_cursor` goes on from there.

    Raises:
        NotFound: There is no such folder.
    """
    filters = {"query": query, "folder": folder}
    first, *where = _read_place(parameters.read_cursor(cursor, list, **filters))
    deadline = time.monotonic() + SEARCH_SECONDS
    hits: list[Row] = []
    stopped: list[Any] | None = None  # the document to go on with, its version, and from where: index and line number
    searched = skipped = 0
    with _library("folder") as library:
        for parts, _ in library.walk(_below(library, folder), _parts(first)):
            path = "/".join(parts)
            if searched + skipped and time.monotonic() > deadline:
                stopped = [path, "", 0, 1]
                break
            try:
                _, text, version = _load(library, parts)
            except OSError:  # gone meanwhile, or not for this server
                text, version = None, ""
            if text is None:
                skipped += 1
                continue
            searched += 1
            start = where[1:] if [path, version] == [first, where[0]] else [0, 1]
            index = begin_byte = 0
            for begin, number, excerpt in texts.lines_with(query, text, *start):
                if len(hits) == limit:
                    stopped = [path, version, begin, number]
                    break
                begin_byte += len(text[index:begin].encode())
                index = begin
                hits.append(
                    {"path": path, "line": number, "excerpt": excerpt, "cursor": _cursor(begin_byte, path, version)}
                )
            if stopped:
                break
    more = "There is more to search: call again with this next_cursor." if stopped else "There is no more to search."
    return {
        "items": hits,
        "next_cursor": parameters.write_cursor(stopped, filters) if stopped else None,
        "note": f"Lines found: {len(hits)}. Documents searched for this page: {searched:,}; skipped, because they are "
        f"too large, no text or unreadable: {skipped:,}. {more}",
        "searched_documents": searched,
        "skipped_documents": skipped,
    }


@contextmanager
def _library(wanted: str) -> Iterator[Confined]:
    try:
        library = Confined(_folder())
    except OSError as error:
        raise UpstreamDown("The library's folder isn't there at the moment.") from error
    try:
        yield library
    except (FileNotFoundError, NotADirectoryError) as error:
        # The same words whatever was wrong: they must not tell what there is outside, and what not.
        raise NotFound(
            f"The library has no such {wanted}. A path is relative to the library, with / between names, exactly as "
            "list_documents gives it, such as handbook/travel.md. Nothing else can be reached: nothing outside, no "
            "link out, no hidden file."
        ) from error
    except PermissionError as error:
        raise Forbidden(
            f"The {wanted} is there, but this server isn't allowed to read it. Ask whoever keeps the library."
        ) from error
    except OSError as error:
        raise UpstreamDown("The library can't be read at the moment.") from error


def _folder() -> Path:
    return Path(os.environ.get("TOOLWORTHY_DOCUMENTS") or _SAMPLE)


def _below(library: Confined, folder: str | None) -> Parts:
    return library.find(folder) if folder else ()


def _parts(path: str | None) -> Parts:
    return tuple(path.split("/")) if path else ()


def _read_place(place: list[Any] | None) -> list[Any]:
    match place:
        case None:
            return [None, "", 0, 1]
        case [str(), str(), int(begin), int(number)] if begin >= 0 and number >= 1:
            return place
    raise WrongRequest("cursor: this is no next_cursor of a search. Leave it out to begin with the first page.")


def _row(parts: Parts, info: os.stat_result) -> Row:
    seconds = min(max(int(info.st_mtime), 0), 250_000_000_000)  # what a datetime can hold
    modified_at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    return {"path": "/".join(parts), "size_bytes": info.st_size, "modified_at": modified_at}


def _load(library: Confined, parts: Parts) -> tuple[Row, str | None, str]:
    """What a document is, its text if it has one that can be sent, and what changes when the document does."""
    with library.open(parts) as file:
        info = os.fstat(file.fileno())
        # Not more than asked for, whatever size is claimed: it may be growing.
        data = b"" if info.st_size > MAX_BYTES else file.read(MAX_BYTES + 1)
    too_large = info.st_size > MAX_BYTES or len(data) > MAX_BYTES
    decoded = None if too_large else texts.decode(data)
    kind = "too_large" if too_large else "text" if decoded else "binary"
    encoding, text, undecodable = decoded or (None, None, 0)
    guess, packed = _TYPES.guess_type(parts[-1])
    media_type = f"application/{packed}" if packed else guess
    row = _row(parts, info) | {
        "media_type": media_type or ("text/plain" if kind == "text" else "application/octet-stream"),
        "kind": kind,
        "encoding": encoding,
        "text_bytes": None if text is None else len(text.encode()),
        "undecodable_bytes": undecodable,
        "note": _NOTES[kind],
    }
    return row, text, f"{info.st_size} {info.st_mtime_ns}"


def _cursor(begin: int, path: str, version: str) -> str:
    return parameters.write_cursor(begin, {"path": path, "version": version})
