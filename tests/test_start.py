"""start.py as a learner meets it: real runs in a copy of the course, where its path has a space and PATH has no uv."""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
COPIED = ("start.py", "pyproject.toml", "requirements.txt", "requirements-dev.txt", "README.md", "LICENSE")
COPIED_FOLDERS = ("toolworthy", "exercises", "servers", "notebooks")
FIRST_PAGE = "/lab/tree/notebooks/00_start_here.ipynb"
PATH = os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if not shutil.which("uv", path=p))
ENVIRONMENT = {**os.environ, "PATH": PATH, "PYTHONPATH": "/nowhere", "VIRTUAL_ENV": "/nowhere"}


def start(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(folder / "start.py"), *arguments]
    return subprocess.run(command, env=ENVIRONMENT, stdin=DEVNULL, capture_output=True, text=True, timeout=300)


def assert_one_sentence(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert (done.returncode, done.stdout) == (2, "")
    (sentence,) = done.stderr.splitlines()
    for word in words:
        assert word in sentence


class Lab(NamedTuple):
    process: subprocess.Popen[str]
    lines: list[str]  # what it has printed up to its address
    port: int
    token: str

    def get(self, path: str, token: str | None = None, method: str = "GET", body: Any = None) -> tuple[int, str]:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            headers = {"Authorization": f"token {token}"} if token else {}
            connection.request(method, path, json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def stop(self, number: int = signal.SIGINT) -> str:
        """Ctrl+C in a terminal reaches the whole process group; this returns what was printed after it."""
        os.killpg(self.process.pid, number)
        return self.process.communicate(timeout=40)[0]


@contextlib.contextmanager
def lab(folder: Path) -> Iterator[Lab]:
    command = [sys.executable, str(folder / "start.py"), "lab", "--no-browser"]
    process = subprocess.Popen(
        command, env=ENVIRONMENT, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, text=True, start_new_session=True
    )
    watchdog = threading.Timer(300, process.kill)
    watchdog.start()
    lines: list[str] = []
    try:
        assert process.stdout
        for line in process.stdout:
            lines.append(line)
            if found := re.search(rf"http://127\.0\.0\.1:(\d+){FIRST_PAGE}\?token=(\w+) ", line):
                yield Lab(process, lines, int(found[1]), found[2])
                break
        else:
            pytest.fail("no address:\n" + "".join(lines))
    finally:
        watchdog.cancel()
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=40)


def processes(text: str) -> list[str]:
    everything = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in everything.splitlines() if text in line]


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if not {".venv", ".ipynb_checkpoints"} & set(path.parts)}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """start.py and nothing else."""
    folder = tmp_path_factory.mktemp("alone")
    shutil.copy(ROOT / "start.py", folder)
    return folder


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The course in a fresh folder, opened once."""
    folder = tmp_path_factory.mktemp("a course")
    for name in COPIED:
        shutil.copy(ROOT / name, folder)
    for name in COPIED_FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"))
    before = files(folder)
    with lab(folder) as first:
        assert first.lines[0] == "Making the environment (once, about a minute)...\n"
        assert "  Fetching the installer uv...\n" in first.lines
        first.stop()
    assert files(folder) == before
    yield folder
    shutil.rmtree(folder)  # pytest would keep three environments


def test_help(alone: Path) -> None:
    done = start(alone, "--help")
    assert done.returncode == 0
    assert all(f"python start.py {command}" in done.stdout for command in ("lab", "test", "pins"))


@pytest.mark.parametrize("arguments, word", [
    ("", "command"), ("play", "'play'"), ("lab --fast", "--fast"), ("pins all", "all"),
    ("lab --port many", "'many'"), ("lab --port 0", "0"), ("lab --port 65536", "65535"),
])  # fmt: skip
def test_a_wrong_command_gets_one_sentence(alone: Path, arguments: str, word: str) -> None:
    assert_one_sentence(start(alone, *arguments.split()), word)


def test_a_taken_port_gets_one_sentence(alone: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert_one_sentence(start(alone, "lab", "--port", port), port, "--port")


@pytest.mark.parametrize("what", ["a file", "an empty folder", "a link to nowhere", "a folder whose Python is gone"])
def test_a_broken_environment_gets_one_sentence(alone: Path, tmp_path: Path, what: str) -> None:
    shutil.copy(alone / "start.py", tmp_path)
    venv = tmp_path / ".venv"
    if what == "a file":
        venv.write_text("")
    elif what == "a link to nowhere":
        venv.symlink_to(tmp_path / "nowhere")
    else:
        venv.mkdir()
        if "Python" in what:
            (venv / "bin").mkdir()
            (venv / "bin" / "python").symlink_to(tmp_path / "removed")
    assert_one_sentence(start(tmp_path, "lab", "--no-browser"), ".venv is broken", "delete .venv and run this again")


def test_the_environment_is_complete(course: Path) -> None:
    python = course / ".venv" / "bin" / "python"
    code = "import jupyterlab, matplotlib, toolworthy; print(toolworthy.__file__)"
    found = subprocess.run([python, "-c", code], cwd="/", capture_output=True, text=True, check=True).stdout
    assert found.strip() == str(course / "toolworthy" / "__init__.py")


def test_the_lab(course: Path) -> None:
    before, began = files(course), time.monotonic()
    with lab(course) as one:
        # Promised are 8 seconds; the suite may be using both cores at the moment.
        assert time.monotonic() - began < 16
        assert [line for line in one.lines if "http" not in line] == ["Starting JupyterLab...\n"]
        assert "Ctrl+C" in one.lines[-1]

        page = one.get(f"{FIRST_PAGE}?token={one.token}")
        assert page[0] == 200 and "JupyterLab" in page[1]
        assert one.get("/api/contents/notebooks/00_start_here.ipynb", one.token)[0] == 200
        assert one.get("/api/contents/notebooks/00_start_here.ipynb")[0] == 403
        assert not processes(one.token), "others on this machine can read command lines"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", one.port))

        asks = json.loads(one.get("/lab/api/settings/@jupyterlab/apputils-extension:notification", one.token)[1])
        defaults = {name: asks["schema"]["properties"][name]["default"] for name in ("fetchNews", "checkForUpdates")}
        assert defaults == {"fetchNews": "false", "checkForUpdates": False}

        session = {"path": "notebooks/x.ipynb", "type": "notebook", "name": "x", "kernel": {"name": "python3"}}
        assert one.get("/api/sessions", one.token, "POST", session)[0] == 201
        with lab(course) as two:
            assert two.port != one.port
            assert two.get("/api/status", two.token)[0] == 200
            assert "Traceback" not in two.stop(signal.SIGTERM)
            assert two.process.returncode == 0
        assert processes(f"{course}/.venv"), "the first goes on, with its kernel"

        assert one.stop().split("\n") == ["", "Stopping JupyterLab...", ""]
        assert one.process.returncode == 0
    for port in (one.port, two.port):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
    assert not processes(f"{course}/.venv")
    assert files(course) == before


def test_tests_run_apart_and_an_interrupted_set_up_continues(course: Path) -> None:
    site = next((course / ".venv" / "lib").glob("python*/site-packages"))
    assert "requirements-dev.txt" not in json.loads((course / ".venv" / "toolworthy.json").read_text())
    (site / "jinja2" / "__init__.py").unlink()  # as a run leaves it that was killed before it noted its success
    (course / "probe.py").write_text(
        "import jinja2, os, pathlib\n"
        "def test_where(): pathlib.Path('home').write_text(os.environ['TOOLWORTHY_HOME'])\n"
        "def test_red(): assert jinja2.Template and False\n"
        "def test_left_out(): pass\n"
    )
    done = start(course, "test", "-p", "no:cacheprovider", "probe.py", "-k", "where or red")
    assert done.returncode == 1
    assert re.search(r"1 failed, 1 passed, 1 deselected in .*s", done.stdout.splitlines()[-1])
    home = Path((course / "home").read_text())
    assert not home.exists() and home.is_absolute() and home != Path(os.environ.get("TOOLWORTHY_HOME", ""))
