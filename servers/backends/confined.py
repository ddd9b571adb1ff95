"""One folder of this machine, and no way out of it.

A path from outside is a claim. Three things make it a fact:

1. Each name in it is looked up in the listing of the folder above. What a system would only take for a name there
   (`..`, another case, `PROGRA~1`, `CON`, `a.txt::$DATA`, a trailing dot, `%2e%2e`, a drive) is none, on any system.
2. Links are resolved, and what they lead to must lie below the folder: compared part by part, since the text
   `/data/library-old` begins with `/data/library` too.
3. It is opened from the folder down, following no link. So a link that somebody put there after the second step leads
   nowhere.

A hard link is a file as good as any other: whoever may put one here could as well have copied the file.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TypeAlias

Parts: TypeAlias = tuple[str, ...]
Entry: TypeAlias = tuple[Parts, os.stat_result]

MAX_PATH = 500

# Where the system can open relative to an open folder (all but Windows can), nothing can be swapped on the way.
_FROM_THE_FOLDER_DOWN = {os.open, os.stat} <= os.supports_dir_fd and os.listdir in os.supports_fd


class Confined:
    """A folder to read in. For what isn't there, is outside, hidden, or neither file nor folder, all methods raise
    FileNotFoundError or NotADirectoryError: no caller should tell the one from the other.

    Args:
        folder: Any spelling, also a link: whoever names it may.

    Raises:
        OSError: There is no such folder.
    """

    def __init__(self, folder: str | Path) -> None:
        self.root = _real(folder)
        if not self.root.is_dir():
            raise NotADirectoryError(folder)

    def find(self, path: str) -> Parts:
        """Where a path like `handbook/travel.md` really leads, as parts below the folder."""
        place = self.root
        try:
            for name in path.split("/"):
                listed = os.listdir(place)
                # macOS may store é as two characters where a caller writes one.
                name = name if name in listed else {_composed(each): each for each in listed}[_composed(name)]
                place = _real(place / name)
                parts = place.relative_to(self.root).parts  # ValueError if it isn't below
        except (OSError, ValueError, KeyError) as error:
            raise FileNotFoundError from error
        if not _can_be_shown(parts):
            raise FileNotFoundError
        return parts

    def open(self, parts: Parts) -> BinaryIO:
        """Open a file that `find` or `walk` gave.

        Raises:
            PermissionError: It is there, and this process may not read it.
        """
        descriptor = self._open_down(parts) if _FROM_THE_FOLDER_DOWN else self._open_and_compare(parts)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise FileNotFoundError
        return os.fdopen(descriptor, "rb")

    def walk(self, below: Parts = (), begin: Parts = ()) -> Iterator[Entry]:
        """All files below a folder in the order of their parts, from `begin` on; no link is followed.

        Folders that can't be read are left out, except for the first.
        """
        waiting = self._entries(below)[::-1]
        while waiting:
            parts, info = waiting.pop()
            if parts < begin[: len(parts)]:
                continue
            if stat.S_ISREG(info.st_mode):
                yield parts, info
                continue
            try:
                waiting += self._entries(parts)[::-1]
            except OSError:
                continue

    def _entries(self, parts: Parts) -> list[Entry]:
        """The files and folders in a folder, sorted."""
        folder: int | Path
        if _FROM_THE_FOLDER_DOWN:
            folder = self._open_down(parts)
            try:
                found = [(name, _look(name, folder)) for name in os.listdir(folder)]
            finally:
                os.close(folder)
        else:
            folder = self._unmoved(parts)
            found = [(name, _look(folder / name)) for name in os.listdir(folder)]
            self._unmoved(parts)
        entries = [((*parts, name), info) for name, info in found if info and _is_plain(info)]
        return sorted(entry for entry in entries if _can_be_shown(entry[0]))

    def _open_down(self, parts: Parts) -> int:
        descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        for name in parts:
            above = descriptor
            try:
                info = _look(name, above)  # opening a device may do something, and a pipe would wait for its other end
                if not info or not _is_plain(info):
                    raise FileNotFoundError
                descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=above)
            finally:
                os.close(above)
        return descriptor

    def _open_and_compare(self, parts: Parts) -> int:
        # To pass this, a folder must be swapped for a link and back again between each two of its lines.
        place = self._unmoved(parts)
        info = _look(place)
        if not info or not _is_plain(info):
            raise FileNotFoundError
        descriptor = os.open(place, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            info = _look(self._unmoved(parts))
            if not info or not os.path.samestat(info, os.fstat(descriptor)):
                raise FileNotFoundError
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def _unmoved(self, parts: Parts) -> Path:
        place = self.root.joinpath(*parts)
        if _real(place) != place:  # a link, or on Windows a junction, which looks like a folder
            raise FileNotFoundError
        return place


def _real(path: str | Path) -> Path:
    return Path(os.path.realpath(path, strict=True))


def _look(name: str | Path, folder: int | None = None) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _is_plain(info: os.stat_result) -> bool:
    return stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode)


def _can_be_shown(parts: Parts) -> bool:
    """Whether a path is fit to be seen: not hidden, not too long, and with nothing in it that can't be seen."""
    path = "/".join(parts)
    # Control characters, direction marks, tags and the like, halves of characters; joiners are part of some scripts.
    odd = any(
        unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp") and each not in "\u200c\u200d" for each in path
    )
    return not odd and len(path) <= MAX_PATH and not any(part.startswith(".") for part in parts)


def _composed(name: str) -> str:
    return unicodedata.normalize("NFC", name)
