"""JupyterLab on a copy of the course, and a Chromium that opens it."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.answers import ROOT

CHROMIUM = next((p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None)
FLAGS = [
    "--no-sandbox",  # as root, as in containers; the pages are our own
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass
class Lab:
    """A running JupyterLab: its address, and the folder it shows (a copy, so that nothing of the course is changed)."""

    address: str
    token: str
    folder: Path

    def url(self, notebook: str) -> str:
        return f"{self.address}/lab/tree/{notebook}?token={self.token}&reset"

    def saved(self, notebook: str) -> list[dict[str, Any]]:
        return list(json.loads((self.folder / notebook).read_text(encoding="utf-8"))["cells"])


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("course")
    for name in ("notebooks", "exercises"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"))
    settings = {
        # Otherwise only the cells in view are in the page, and come and go while a test looks at them.
        "notebook-extension/tracker": {"windowingMode": "none"},
        "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    }
    for name, value in settings.items():
        file = folder / "config" / "lab" / "user-settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(value), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex(16)
    environment = os.environ | {
        "JUPYTER_TOKEN": token,
        "TOOLWORTHY_HOME": str(folder / "home"),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),  # a person's own workspaces and settings stay out
    }
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--ServerApp.allow_root=True",
        f"--ServerApp.port={port}",
    ]
    options = ["--ServerApp.port_retries=0", f"--ServerApp.root_dir={folder}", "--ServerApp.log_level=ERROR"]
    server = subprocess.Popen(
        [*command, *options], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{address}/api/status?token={token}", timeout=1)
                break
            except OSError:
                assert server.poll() is None, "JupyterLab ended at once"
                time.sleep(0.2)
        yield Lab(address, token, folder)
    finally:
        # Asked this way it ends its kernels too.
        end = urllib.request.Request(f"{address}/api/shutdown?token={token}", method="POST")
        with suppress(OSError):
            urllib.request.urlopen(end, timeout=30)
        server.wait(60)


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium: on Debian and Ubuntu `apt install chromium`, elsewhere any Chromium on the PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser.new_page(viewport={"width": 1280, "height": 1000})
        browser.close()
