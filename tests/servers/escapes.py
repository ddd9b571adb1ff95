"""Paths that try to leave a folder: every known kind, and random ones; and a tree to try them in.

The tree has the shape of `servers.broken.files`: a folder `public` that is served, and `private/recipe.txt` beside it.
"""

from __future__ import annotations

import os
import random
import socket
from pathlib import Path

CANARY = "the canary sings at midnight"


def write(folder: Path, contents: dict[str, str | bytes]) -> None:
    for name, content in contents.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())


def attacks(tree: Path) -> list[str]:
    """Paths of every known kind that a careless server takes to private/recipe.txt, beside its folder `public`."""
    target, up = "private/recipe.txt", "../private/recipe.txt"
    here = tree.as_posix()
    return [
        # upwards, from here and from below, and more often than there are folders
        up, f"./{up}", f"notes/../{up}", f"notes/menu.txt/../../{up}", f"missing/../{up}", f"notes/./.././{up}",
        "../" * 40 + f"{here}/{target}".lstrip("/"), "..", ".", "./", "../", "notes/..", "notes/../..", "../public",
        "../public/welcome.txt", "../public-old/recipe.txt", "../PUBLIC/recipe.txt", "../recipe.txt",
        # what a filter that removes "../" once, or splits otherwise, makes of it
        f"....//{target}", f"..././{target}", f".../...//{target}", f"..;/{target}", f"..//{target}",
        f"..../{target}",
        # absolute
        f"{here}/{target}", f"/{here}/{target}", f"//{here}/{target}", f"{here}/public/welcome.txt", "/etc/passwd",
        f"/.{here}/{target}", f"notes/{here}/{target}", f"notes//{here}/{target}", "/", "//",
        f"{here}/public/../private/recipe.txt", f"{here}/public/../../../../../../etc/passwd",
        # encoded, once and twice
        "%2e%2e/private/recipe.txt", "%2e%2e%2fprivate%2frecipe.txt", "..%2fprivate%2frecipe.txt",
        "%2E%2E%2Fprivate%2Frecipe.txt", "%252e%252e%252fprivate%252frecipe.txt", "..%5cprivate%5crecipe.txt",
        "%2e%2e%5cprivate%5crecipe.txt", "%c0%ae%c0%ae/private/recipe.txt", "..%c0%afprivate/recipe.txt",
        "%uff0e%uff0e/private/recipe.txt", f"%2f{here[1:]}/{target}", f"{here}/private%2frecipe.txt",
        "&#46;&#46;/private/recipe.txt", "\\u002e\\u002e/private/recipe.txt", "=2E=2E/private/recipe.txt",
        # look-alikes
        "‥/private/recipe.txt", "．．／private／recipe.txt", "․․/private/recipe.txt", "..∕private∕recipe.txt",
        "..⁄private⁄recipe.txt", "..／private/recipe.txt", "À®À®/private/recipe.txt", ".\u200b./private/recipe.txt",
        "\u202e../private/recipe.txt", "..\u00ad/private/recipe.txt", "…/private/recipe.txt",
        "\ufeff../private/recipe.txt",
        # as Windows has it
        "..\\private\\recipe.txt", "notes\\..\\..\\private\\recipe.txt", "..\\/private/recipe.txt",
        "C:\\private\\recipe.txt", "C:private\\recipe.txt", "C:/private/recipe.txt", "C:recipe.txt",
        "\\private\\recipe.txt", "\\\\server\\share\\recipe.txt", "//server/share/recipe.txt",
        "\\\\?\\C:\\private\\recipe.txt", "\\\\.\\C:\\private\\recipe.txt", "//?/C:/recipe.txt",
        "\\??\\C:\\recipe.txt", "\\\\localhost\\c$\\recipe.txt", "CON", "con", "NUL", "NUL.txt", "COM1", "LPT1.txt",
        "notes/AUX", "CONIN$", "\\\\.\\pipe\\x", "PRN .txt", "welcome.txt::$DATA", "welcome.txt:stream",
        "notes::$INDEX_ALLOCATION", "welcome.txt.", "welcome.txt ", "welcome.txt. . ", "notes./menu.txt",
        "notes /menu.txt", " welcome.txt", ".. /private/recipe.txt", "... /private/recipe.txt",
        ".. ./private/recipe.txt", "WELCOM~1.TXT", "PRIVAT~1/recipe.txt", "../PRIVAT~1/RECIPE~1.TXT",
        # what shells, URLs and systems know
        "~/private/recipe.txt", "~", "~root/recipe.txt", "$HOME/private/recipe.txt", "${HOME}/recipe.txt",
        "%HOME%/recipe.txt", "%USERPROFILE%\\recipe.txt", "file://../private/recipe.txt", f"file://{here}/{target}",
        f"file:{here}/{target}", "file:///etc/passwd", "http://127.0.0.1/recipe.txt", "data:text/plain,x",
        "|cat ../private/recipe.txt", "`cat /etc/passwd`", "$(cat /etc/passwd)", "*", "**/*", "../*/recipe.txt",
        "../{private,x}/recipe.txt", "-", "--", "-rf", "<../private/recipe.txt", "/proc/self/cwd/private/recipe.txt",
        "private/recipe.txt", "public/welcome.txt", f"/proc/self/root{here}/{target}", "/proc/self/environ",
        "/proc/self/fd/0", "/dev/fd/0", "/dev/stdin", "/dev/zero", "/dev/tty", "proc/self/environ",
        f"/proc/thread-self/root{here}/{target}",
        # other cases, spellings, lengths, and things that are no text
        "WELCOME.TXT", "Notes/menu.txt", "notes/MENU.txt", "notes//menu.txt", "notes/", "/notes", "./welcome.txt",
        "welcome.txt/", "welcome.txt/x", "welcome.txt/..", "", " ", "\0", f"welcome.txt\0{up}", f"{up}\0.txt",
        f"{up}\n", f"\n{up}", f"{up}\r\n", "welcome.txt\n", "\t", "\x7f", "\x1b[2Jwelcome.txt", "\ud800",
        "\udcff../private/recipe.txt", "a" * 255, "a" * 256, "a" * 499, "a" * 501, "../" * 160 + "x",
        "x/" * 249 + "x", "../" * 5_000 + target, "é" * 200, "x" * 100_000,
    ]  # fmt: skip


def through(tree: Path) -> set[str]:
    """Those that get through the twin on Linux, and one by its own link: so the canary can be seen."""
    here = tree.as_posix()
    paths = [
        "./../private/recipe.txt", "notes/../../private/recipe.txt", "notes/menu.txt/../../../private/recipe.txt",
        "missing/../../private/recipe.txt", "notes/./.././../private/recipe.txt", "%2e%2e/private/recipe.txt",
        "%2e%2e%2fprivate%2frecipe.txt", "%2E%2E%2Fprivate%2Frecipe.txt", f"{here}/private%2frecipe.txt",
        f"{here}/public/../private/recipe.txt", f"%2f{here[1:]}/private/recipe.txt", "shared/recipe.txt",
    ]  # fmt: skip
    starts = ["", "/", "//", "/.", "/proc/self/root", "/proc/thread-self/root"]
    return {*paths, *(f"{start}{here}/private/recipe.txt" for start in starts)}


def in_the_library(tree: Path) -> list[str]:
    """Put links, special files, hidden ones and odd names into the library; the paths that try to use them."""
    public = tree / "public"
    links = {
        "file.txt": "../private/recipe.txt", "absolute.txt": str(tree / "private/recipe.txt"), "folder": "../private",
        "up": "..", "root": "/", "chain1.txt": "chain2.txt", "chain2.txt": "notes/chain3.txt",
        "notes/chain3.txt": "../../private/recipe.txt", "by-folder.txt": "folder/recipe.txt", "old": "../public-old",
        "dangling.txt": "../private/missing.txt", "dangling": "../missing", "self": "self", "ring1": "ring2",
        "ring2": "ring1", "zero": "/dev/zero", "environ": "/proc/self/environ", "cwd": "/proc/self/cwd",
        "hidden.txt": ".env", "long": "/".join([".."] * 30),
    }  # fmt: skip
    for name, goal in links.items():
        (public / name).symlink_to(goal)
    write(public, {".env": CANARY, ".git/config": CANARY, "notes/.secret": CANARY, "..data/recipe.txt": CANARY})
    odd = ["evil\u202etxt.exe", "ansi\x1b[31m.txt", "zero\u200bwidth.txt", "tag\U000e0041.txt", "new\nline.txt",
           "bell\x07.txt", "mark\ufeff.txt", "sep\u2028.txt", "soft\u00ad.txt"]  # fmt: skip
    write(public, dict.fromkeys(odd, CANARY))
    write(public, {f"bidi\u2066{CANARY}/in.txt": CANARY})
    with open(os.fsencode(public) + b"/bad\xff.txt", "w") as file:
        file.write(CANARY)
    os.mkfifo(public / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("public/socket")  # relative: such a path must be short
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        os.mknod(public / "device", 0o666 | 0o020000, os.makedev(1, 5))  # another /dev/zero
    return [
        *links, "folder/recipe.txt", "folder/menu.txt", "up/private/recipe.txt", "up/public/welcome.txt", "up/public",
        "old/recipe.txt", "root/etc/passwd", f"root{tree}/private/recipe.txt", f"root{tree}/public/welcome.txt",
        "folder/../welcome.txt", "up/public/up/private/recipe.txt", "cwd/public/welcome.txt",
        "cwd/private/recipe.txt", "self/x", "ring1/x", "dangling/x", "zero", "pipe.txt", "socket", "device", ".env",
        ".git/config", ".git", "notes/.secret", "..data/recipe.txt", "..data", *odd, f"bidi\u2066{CANARY}/in.txt",
        "bad\udcff.txt", "bad\ufffd.txt", "notes/menu.txt/x", "long/etc/passwd",
    ]  # fmt: skip


def mutations(count: int, tree: Path) -> list[str]:
    """Random paths that grew out of such as lead to private/recipe.txt by a careless way; many still do."""
    rng = random.Random(48)
    seeds = [*sorted(through(tree)), "../private/recipe.txt"]
    pieces = [
        "..", ".", "...", "notes", "notes/..", "menu.txt", "private", "public", "shared", "folder", "up", "link",
        "%2e%2e", "%2f", "%252e", "..\\", "C:", "~", "\u2025", "．．", "", " ", "\u202e", "CON", "::$DATA", "file:",
        "\0",
    ]  # fmt: skip
    made = []
    for _ in range(count):
        parts = rng.choice(seeds).split("/")
        for _ in range(rng.randrange(4)):
            at = rng.randrange(len(parts) + 1)
            parts[at : at + rng.randrange(2)] = [rng.choice(pieces)]
        path = rng.choice(["/"] * 8 + ["\\", "//", "%2f"]).join(parts)
        made.append("".join(f"%{ord(each):02x}" if rng.random() < 0.02 else each for each in path))
    return made
