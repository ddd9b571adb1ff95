"""Servers as their users run them: which there are, their environment, and one that serves HTTP for a while."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).parents[2]
SERVERS = ROOT / "servers"

Mode = Literal["legacy", "auto"]
# Both eras, with today's client: "auto" means 2026-07-28 and "legacy" 2025-11-25.
ERAS: dict[Mode, str] = {"legacy": "2025-11-25", "auto": "2026-07-28"}


def environment(**more: str) -> dict[str, str]:
    """What a server process needs: where this package is, no log, and `fastmcp` on the path."""
    keep = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TOOLWORTHY_", "FASTMCP_")) or name == "TOOLWORTHY_HOME"
    }
    tools = Path(sys.executable).parent
    return keep | {
        "PYTHONPATH": str(ROOT),
        "PATH": f"{tools}{os.pathsep}{os.environ.get('PATH', '')}",
        "FASTMCP_LOG_LEVEL": "CRITICAL",
        "FASTMCP_CHECK_FOR_UPDATES": "off",
        **more,
    }


def listens(port: int, process: subprocess.Popen[bytes]) -> bool:
    """Whether a process comes to listen on a port, before it ends."""
    deadline = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        time.sleep(0.02)
    return False


@contextmanager
def http_server(file: Path, **more: str) -> Iterator[int]:
    """A server on a free port. Somebody may take the port before the server does: then try another."""
    for _ in range(5):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        process = subprocess.Popen(
            [sys.executable, str(file), "--http", str(port)],
            env=environment(**more),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        try:
            if listens(port, process):
                yield port
                process.send_signal(signal.SIGINT if os.name == "posix" else signal.SIGTERM)
                said = process.communicate(timeout=20)[0]
                assert said == b"", f"a server has nothing to say: {said!r}"
                assert process.returncode == 130 or os.name != "posix"
                return
            assert process.returncode == 2, "it neither serves nor says that the port is taken"
        finally:
            process.kill()
            process.communicate()
    raise AssertionError("no free port")


def run_server(file: Path, *options: str, **more: str) -> subprocess.CompletedProcess[str]:
    """A server started with options, and with nobody at its stdin."""
    return subprocess.run(
        [sys.executable, str(file), *options],
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
