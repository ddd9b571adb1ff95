"""The command `toolworthy`."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Parameter
from rich.console import Console

from toolworthy import __version__, auditing, checking, memory, notebook
from toolworthy.subject import Era, TargetError

app = App(
    name="toolworthy",
    version=__version__,
    help="Check MCP tools: by the checklist (audit), or against an exercise (check).",
)


@app.command
def audit(
    *target: Annotated[str, Parameter(allow_leading_hyphen=True)],
    format: Literal["text", "json", "html"] = "text",
    era: Era = "auto",
) -> int:
    """Look at a server's tools with every rule. Exit code: 0 clean, 1 violations, 2 could not run.

    Parameters
    ----------
    target
        A file (server.py, server.py:mcp, servers.json), a URL, or a command: toolworthy audit -- python server.py
    format
        text for people, json for programs, html for a page.
    era
        auto: the newest protocol both speak; handshake: 2025-11-25 and before; modern: 2026-07-28.
    """
    with Console(stderr=True).status("Connecting and listing tools"):
        found = asyncio.run(auditing.audit(_target(target), era=era))
    print({"text": repr(found), "json": found.to_json(), "html": found._repr_html_()}[format])
    return 0 if found.clean else 1


@app.command
def check(part: str, *target: Annotated[str, Parameter(allow_leading_hyphen=True)], seed: int | None = None) -> int:
    """Check one part of an exercise against a server. Exit code: 0 green, 1 red, 2 could not run.

    Parameters
    ----------
    part
        For example 02.1.
    target
        A file, a URL, or a command after `--`.
    seed
        Repeats a run with the same data.
    """

    async def run() -> checking.CheckResult:
        return await checking.check(part, _target(target), seed=seed)

    with Console(stderr=True).status(f"Checking {part}"):
        result = asyncio.run(run())
    print(result)
    return {"green": 0, "red": 1, "not run": 2}[result.verdict]


@app.command
def hint(part: str) -> int:
    """Show the next hint for a part of an exercise."""
    found = checking.hint(part)
    print(found)
    return 0 if found.part else 2


@app.command(name="progress")
def show_progress() -> int:
    """Show what is green so far."""
    print(memory.progress())
    return 0


@app.command
def reset(part: str, file: Path | None = None) -> int:
    """Put the starter of a part back into its notebook; the old answer stays beside it.

    Parameters
    ----------
    part
        For example 02.1.
    file
        The notebook; by default the exercise's own.
    """
    done = notebook.reset(part, file)
    print(done.message)
    return 0 if done.ok else 2


def _target(words: tuple[str, ...]) -> object:
    if not words:
        raise TargetError("Name a server: a file, a URL, or a command after `--`.")
    return words[0] if len(words) == 1 and "--" not in sys.argv else list(words)


def main() -> None:
    """Entry point. Everything a user can get wrong ends in one sentence on stderr and exit code 2."""
    os.environ.pop("TOOLWORTHY_ON_FAIL", None)  # the exit code says it here
    logging.getLogger("mcp").setLevel(
        logging.CRITICAL
    )  # what a server does wrong is in our sentence, not in a traceback
    try:
        code = app(sys.argv[1:], exit_on_error=False, print_error=False)
    except CycloptsError as error:
        print(f"toolworthy: {error} See: toolworthy --help", file=sys.stderr)
        code = 2
    except TargetError as error:
        print(f"toolworthy: {error}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        code = 130
    raise SystemExit(code)
