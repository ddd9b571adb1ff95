"""Text in files: what bytes say, where to cut them, and which lines have some words in them."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterator

EXCERPT_CHARACTERS = 200

_UNDECODABLE = re.compile("[\udc80-\udcff]")


def decode(data: bytes) -> tuple[str, str, int] | None:
    """The encoding, the text, and how many bytes are U+FFFD in it because they are no UTF-8; None if it is no text.

    UTF-16 is known by its byte order mark. A mark stays in the text. No text: a NUL, or a third and more undecodable.
    """
    encoding, undecodable = "utf-8", 0
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16-le" if data.startswith(codecs.BOM_UTF16_LE) else "utf-16-be"
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            return None
    elif b"\0" in data:
        return None
    else:
        text, undecodable = _UNDECODABLE.subn("\ufffd", data.decode(errors="surrogateescape"))
    return None if "\0" in text or undecodable * 3 > len(data) else (encoding, text, undecodable)


def part_end(data: bytes, begin: int, size: int) -> int:
    """Where the part of a UTF-8 text that begins at `begin` ends, at most `size` bytes later.

    After the last line end in its second half. Without one, between two characters as people see them: not between CR
    and LF, nor before an accent, a joiner or a skin colour. (A pile of marks of more than 100 bytes is cut between two
    of them; so may be the two letters of a flag.)
    """
    limit = begin + size
    if limit >= len(data):
        return len(data)
    line_end = data.rfind(b"\n", begin + size // 2, limit) + 1
    borders = [at for at in range(limit, max(begin, limit - 100), -1) if not inside_character(data, at)]
    return line_end or next((at for at in borders if not _belong_together(data, at)), borders[0])


def inside_character(data: bytes, at: int) -> bool:
    """Whether a cut before this byte would divide a character of a UTF-8 text."""
    return at < len(data) and data[at] & 0b1100_0000 == 0b1000_0000


def _belong_together(data: bytes, at: int) -> bool:
    before = data[max(0, at - 4) : at].decode(errors="ignore")[-1]
    after = data[at : at + 4].decode(errors="ignore")[0]
    return (
        before + after == "\r\n"
        or unicodedata.category(after).startswith("M")
        or "\u200d" in before + after
        or "\U0001f3fb" <= after <= "\U0001f3ff"
    )


def lines_with(words: str, text: str, begin: int = 0, number: int = 1) -> Iterator[tuple[int, int, str]]:
    """The lines with these words in any case: index of the first character, number, excerpt around the words.

    The search begins with line `number`, which begins at `begin`. It takes time in proportion to the text, whatever
    that is made of. Lines end with LF or CR LF.
    """
    # é may be one character or two. (Bringing a text to one form takes hours for some that are made for it.)
    needles = {_lower(unicodedata.normalize(form, words)) for form in ("NFC", "NFD")}
    lower = _lower(text)
    next_at = {needle: lower.find(needle, begin) for needle in needles}
    while found := [at for at in next_at.values() if at >= 0]:
        first = min(found)
        before, begin = begin, lower.rfind("\n", 0, first) + 1
        number += lower.count("\n", before, begin)
        end = lower.find("\n", first)
        end = len(text) if end < 0 else end
        yield begin, number, _excerpt(text[begin:end].rstrip("\r"), first - begin)
        next_at = {needle: lower.find(needle, end) if 0 <= at < end else at for needle, at in next_at.items()}


def _excerpt(line: str, at: int) -> str:
    if len(line) <= EXCERPT_CHARACTERS:
        return line
    begin = max(0, at - EXCERPT_CHARACTERS // 4)
    excerpt = line[begin : begin + EXCERPT_CHARACTERS - 2]
    return f"{'…' if begin else ''}{excerpt}{'…' if begin + len(excerpt) < len(line) else ''}"


def _lower(text: str) -> str:
    """A text in which case makes no difference, and each character has its place still (casefold moves them)."""
    return text.replace("İ", "i").lower().replace("ς", "σ")
