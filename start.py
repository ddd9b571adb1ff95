"""Makes the course's environment in .venv, once, and runs things in it.

python start.py lab     opens the course in JupyterLab (--port N, --no-browser)
python start.py test    runs linters, type checker and tests; with arguments, only pytest with these arguments
python start.py soak    runs the tests under fire for longer: more rounds, more calls (about an hour)
python start.py pins    renews requirements.txt and requirements-dev.txt from pyproject.toml (--upgrade)
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import http.client
import importlib.util
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import webbrowser
from pathlib import Path
from subprocess import DEVNULL
from typing import NoReturn

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN, EXE = (VENV / "Scripts", ".exe") if os.name == "nt" else (VENV / "bin", "")
PYTHON, UV = BIN / f"python{EXE}", BIN / f"uv{EXE}"
STAMP = VENV / "toolworthy.json"  # what has been installed, and where this folder lay then
COURSE, DEV = "requirements.txt", "requirements-dev.txt"
SUITE = ("ruff check", "ruff format --check", "mypy", "pytest -n 2 --dist loadfile")
SOAK = ("pytest -n 2 --dist loadfile tests/servers/test_under_fire.py tests/servers/test_generated_calls.py",)
HOST = "127.0.0.1"
FIRST_PAGE = "lab/tree/notebooks/00_start_here.ipynb"
# JupyterLab would ask about news and look for updates; the course works offline.
LAB_SETTINGS = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}
STOPS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)]


def fail(sentence: str) -> NoReturn:
    print(sentence, file=sys.stderr)
    raise SystemExit(2)


def surroundings(**more: str) -> dict[str, str]:
    """The environment variables of every child: .venv comes first, whatever else is active in this terminal."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV")}
    path = f"{BIN}{os.pathsep}{env.get('PATH', os.defpath)}"
    return {**env, "PATH": path, "PYTHONUTF8": "1", "FASTMCP_CHECK_FOR_UPDATES": "off", **more}


def run(*command: str | Path) -> tuple[int, str]:
    """Exit code and output of a command that gets no input; 127 and the reason where it cannot be started."""
    try:
        done = subprocess.run(command, cwd=ROOT, env=surroundings(), input="", capture_output=True, errors="replace")
    except OSError as error:
        return 127, error.strerror or str(error)
    return done.returncode, (done.stdout + done.stderr).strip()


def step(doing: str, *command: str | Path) -> None:
    print(f"  {doing}...", flush=True)
    code, output = run(*command)
    if code:
        tail = "\n".join(f"  {line}" for line in output.splitlines()[-6:])
        fail(f"{doing} did not work (is there a network?); run this again to continue. The last lines were:\n{tail}")


def check_venv() -> str:
    """The version of the Python in .venv; ends with one sentence where .venv is of no use."""
    code, output = run(PYTHON, "-c", "import sys; print(*sys.version_info[:3], sep='.')")
    if code:
        reason = (output.splitlines() or [f"exit code {code}"])[-1] if VENV.is_dir() else "it is not a folder"
        fail(f".venv is broken, its Python does not start ({reason}): delete .venv and run this again.")
    if tuple(map(int, output.split(".")[:2])) < (3, 11):
        fail(f".venv has Python {output}, and the course needs 3.11 or newer: delete .venv and run this again.")
    return output


def machine_uv() -> str | None:
    found = shutil.which("uv")
    return found if found and run(found, "--version")[0] == 0 else None


def own_uv() -> Path:
    """The uv in .venv; where there is none, pip puts it there, checked against the hashes in requirements.txt."""
    if run(UV, "--version")[0] == 0:
        return UV
    if importlib.util.find_spec("ensurepip") is None:
        fail("This Python lacks its module ensurepip; on Debian and Ubuntu: apt install python3-venv")
    pinned = re.search(r"^uv==.*?(?=^\S|\Z)", (ROOT / COURSE).read_text("utf-8"), re.MULTILINE | re.DOTALL)
    step("Unpacking pip", PYTHON, "-m", "ensurepip")
    with tempfile.TemporaryDirectory() as folder:
        pin = Path(folder, "uv.txt")
        pin.write_text(pinned[0] if pinned else "", "utf-8")
        pip = (PYTHON, "-m", "pip", "install", "--no-user", "--no-deps", "--only-binary=:all:", "--force-reinstall")
        step("Fetching the installer uv", *pip, "--require-hashes", "-r", pin)
    return UV


def prepare(*files: str) -> None:
    """Makes .venv hold this package and what these requirement files pin; returns at once where it does."""
    new = not os.path.lexists(VENV)
    if new:
        print("Making the environment (once, about a minute)...", flush=True)
        uv = machine_uv()
        maker = (uv, "venv", "--python", sys.executable) if uv else (sys.executable, "-m", "venv", "--without-pip")
        step("Making .venv", *maker, VENV)
    common = check_venv().encode() + (ROOT / "pyproject.toml").read_bytes()
    wanted = {name: hashlib.sha256(common + (ROOT / name).read_bytes()).hexdigest() for name in files}
    stamp: dict[str, str] = {}
    with contextlib.suppress(FileNotFoundError, ValueError):
        stamp = json.loads(STAMP.read_text("utf-8"))
    if stamp.get("folder") != str(ROOT):
        stamp = {}  # scripts in .venv name the folder where this lay before
    missing = [name for name in files if stamp.get(name) != wanted[name]]
    if not missing:
        return
    if not new:
        print("Bringing the environment up to date...", flush=True)
    install = (machine_uv() or own_uv(), "pip", "install", "--python", PYTHON)
    STAMP.unlink(missing_ok=True)
    for name in missing:
        # Where it is not known to have ended well, a run may have been interrupted in the middle of a package.
        again = () if new or name in stamp else ("--reinstall",)
        step(f"Installing {name}", *install, "--compile-bytecode", "--require-hashes", *again, "-r", name)
    # Fetches nothing: what builds the package (hatchling) is pinned too.
    own = ("--no-deps", "--no-build-isolation", "--no-require-hashes", "--reinstall", "-e", ".")
    step("Installing the course", *install, *own)
    settings = VENV / "share" / "jupyter" / "lab" / "settings"
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "overrides.json").write_text(json.dumps(LAB_SETTINGS), "utf-8")
    STAMP.write_text(json.dumps({**stamp, **wanted, "folder": str(ROOT)}), "utf-8")


def choose_port(asked: int | None) -> int:
    if asked is not None and not 1 <= asked <= 65535:
        fail(f"There is no port {asked}: a port is a number from 1 to 65535.")
    for port in range(8888, 8988) if asked is None else [asked]:
        with socket.socket() as probe:
            # As on Jupyter's own socket: a port is free at once when a lab has left it.
            probe.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR), 1)
            try:
                probe.bind((HOST, port))
                return port
            except OSError as error:
                problem = error.strerror
    fail(f"Port {port} cannot be used ({problem}); name another one with --port.")


def ask(port: int, token: str, method: str, path: str, seconds: float) -> int | None:
    """Status of an answer from JupyterLab, None without one; http.client because it knows no proxies."""
    with contextlib.closing(http.client.HTTPConnection(HOST, port, timeout=seconds)) as connection:
        try:
            connection.request(method, path, headers={"Authorization": f"token {token}"})
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return None


def open_browser(address: str) -> None:
    graphical = sys.platform in ("win32", "darwin") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    with contextlib.suppress(webbrowser.Error):
        # A plain GenericBrowser is one that would take over the terminal.
        if graphical and type(webbrowser.get()) is not webbrowser.GenericBrowser:
            webbrowser.open(address)


def stop(server: subprocess.Popen[bytes], port: int, token: str) -> None:
    for number in STOPS:
        signal.signal(number, signal.SIG_IGN)
    # Asked this way it ends its kernels too, on every system.
    if server.poll() is None and ask(port, token, "POST", "/api/shutdown", 15) is None:
        server.terminate()
    try:
        server.wait(15)
    except subprocess.TimeoutExpired:
        server.kill()


def lab(asked: int | None, browser: bool) -> int:
    choose_port(asked)  # a wrong one is said now, not after a minute of installing
    prepare(COURSE)
    port, token = choose_port(asked), secrets.token_hex(24)
    # What Jupyter and IPython remember lives and dies with .venv; no configuration or open tabs from elsewhere mix in.
    homes = {"JUPYTER_CONFIG_DIR": "etc/jupyter", "JUPYTER_DATA_DIR": "share/jupyter", "IPYTHONDIR": "share/ipython"}
    env = surroundings(JUPYTER_TOKEN=token, **{name: str(VENV / folder) for name, folder in homes.items()})
    command = [str(PYTHON), "-m", "jupyterlab", "--no-browser", "--allow-root", f"--ServerApp.root_dir={ROOT}"]
    command += [f"--ServerApp.ip={HOST}", f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    command += ["--Application.log_level=ERROR", "--KernelManager.transport_encryption=auto"]
    print("Starting JupyterLab...", flush=True)
    # In a group of its own: Ctrl+C would reach it as well, and it would ask whether that was meant.
    apart = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    server = subprocess.Popen(command, cwd=ROOT, env=env, stdin=DEVNULL, creationflags=apart, start_new_session=True)
    try:
        deadline = time.monotonic() + 120
        while ask(port, token, "GET", "/api/status", 2) != 200:
            if server.poll() is not None or time.monotonic() > deadline:
                fail("JupyterLab did not start, see above; if it does so again, delete .venv and run this once more.")
            time.sleep(0.1)
        address = f"http://{HOST}:{port}/{FIRST_PAGE}?token={token}"
        print(f"The course is at {address} (Ctrl+C stops it)", flush=True)
        if browser:
            open_browser(address)
        while server.poll() is None:
            time.sleep(0.2)
        if server.returncode:
            fail("JupyterLab ended by itself, see above.")
    except KeyboardInterrupt:
        print("\nStopping JupyterLab...", flush=True)
    finally:
        stop(server, port, token)
    return 0


def test(arguments: list[str], commands: tuple[str, ...] = SUITE, **more: str) -> int:
    """Runs everything, also after a failure; the exit code is the first failure's."""
    prepare(COURSE, DEV)
    # Ctrl+C reaches the child as well: it ends in its own way (pytest has workers to end), and only then this does.
    pressed: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    first = 0
    with tempfile.TemporaryDirectory(prefix="toolworthy-", ignore_cleanup_errors=True) as home:
        env = surroundings(TOOLWORTHY_HOME=home, **more)  # a learner's own progress stays out of it
        for command in [["pytest", *arguments]] if arguments else [line.split() for line in commands]:
            print(f"\n{' '.join(command)}", flush=True)
            code = subprocess.call([PYTHON, "-m", *command], cwd=ROOT, env=env)
            if pressed:
                raise KeyboardInterrupt
            first = first or code
    return first


def pins(upgrade: bool) -> int:
    uv = UV if run(UV, "--version")[0] == 0 else machine_uv()
    if uv is None:
        prepare(COURSE)
        uv = own_uv()
    options = ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-emit-index-url", "--no-annotate"]
    options += ["--custom-compile-command", "python start.py pins", *(["--upgrade"] if upgrade else [])]
    compile_ = (uv, "pip", "compile")
    step(f"Pinning {COURSE}", *compile_, "pyproject.toml", "--extra", "course", *options, "-o", COURSE)
    step(f"Pinning {DEV}", *compile_, "--group", "dev", "-c", COURSE, *options, "-o", DEV)
    return 0


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        fail(f"{message}; python start.py --help tells more.")


def main() -> int:
    if sys.version_info < (3, 11):  # noqa: UP036 - an older Python must get as far as this sentence
        fail(f"Toolworthy needs Python 3.11 or newer; this is {sys.version.split()[0]} ({sys.executable}).")
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    commands = parser.add_subparsers(
        dest="command", metavar="command", required=True, prog="start.py", help="lab, test, soak or pins"
    )
    for_lab = commands.add_parser("lab")
    for_lab.add_argument("--port", type=int, help="instead of 8888, or the next free one")
    for_lab.add_argument("--no-browser", action="store_true", help="only print the address")
    commands.add_parser("test", add_help=False)
    commands.add_parser("soak")
    for_pins = commands.add_parser("pins")
    for_pins.add_argument("--upgrade", action="store_true", help="to the newest versions that pyproject.toml allows")
    given, others = parser.parse_known_args()
    if others and given.command != "test":
        parser.error(f"unknown: {' '.join(others)}")
    for number in STOPS:
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup
            signal.signal(number, signal.default_int_handler)
    try:
        if given.command == "lab":
            return lab(given.port, not given.no_browser)
        if given.command == "pins":
            return pins(given.upgrade)
        return test(others) if given.command == "test" else test([], SOAK, TOOLWORTHY_SOAK="1")
    except KeyboardInterrupt:
        print("\nStopped; run this again to continue.", file=sys.stderr)
        return 130
    except OSError as error:
        fail(f"That did not work: {error}")


if __name__ == "__main__":
    sys.exit(main())
