"""Makes the course's environment in .venv, once, and runs things in it.

  python start.py lab     opens the course in JupyterLab
  python start.py test    runs linters, type checker and tests; with arguments, only pytest with these arguments
  python start.py pins    renews requirements.txt and requirements-dev.txt from pyproject.toml
"""

from __future__ import annotations

import argparse
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
from typing import NoReturn

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
SCRIPTS = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = SCRIPTS / ("python.exe" if os.name == "nt" else "python")
UV = SCRIPTS / ("uv.exe" if os.name == "nt" else "uv")
STAMP = VENV / "toolworthy.json"  # what has been installed, and where this folder lay then
COURSE, DEV = "requirements.txt", "requirements-dev.txt"
HOST = "127.0.0.1"
FIRST_PAGE = "lab/tree/notebooks/00_start_here.ipynb"
# JupyterLab would ask about news and look for updates; the course works offline.
OVERRIDES = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}
STOPS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)]


def fail(sentence: str) -> NoReturn:
    print(sentence, file=sys.stderr)
    raise SystemExit(2)


def surroundings(**more: str) -> dict[str, str]:
    """The environment variables of every child: .venv comes first, whatever else is active in this terminal."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV")}
    env["PATH"] = f"{SCRIPTS}{os.pathsep}{env.get('PATH', os.defpath)}"
    return {**env, "PYTHONUTF8": "1", "FASTMCP_CHECK_FOR_UPDATES": "off", **more}


def run(*command: str | Path) -> tuple[int, str]:
    """Exit code and output of a command that gets no input; 127 and the reason where it cannot be started."""
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=surroundings(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:
        return 127, error.strerror or str(error)
    return done.returncode, done.stdout.strip()


def step(doing: str, *command: str | Path) -> None:
    print(f"  {doing}...", flush=True)
    code, output = run(*command)
    if code:
        tail = "\n".join(f"  {line}" for line in output.splitlines()[-12:])
        fail(f"{doing} did not work (is there a network?); run this again to continue. The last lines were:\n{tail}")


def check_venv() -> str:
    """Version of the Python in .venv; ends with one sentence where .venv cannot be used."""
    code, output = run(PYTHON, "-c", "import sys; print(*sys.version_info[:3], sep='.')")
    if code:
        reason = (output.splitlines() or [f"exit code {code}"])[-1] if VENV.is_dir() else "it is not a folder"
        fail(f".venv is broken, its Python does not start ({reason}): delete .venv and run this again.")
    if tuple(map(int, output.split(".")[:2])) < (3, 11):
        fail(f".venv has Python {output}, the course needs 3.11 or newer: delete .venv and run this again.")
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
    if pinned is None:
        fail(f"{COURSE} does not pin uv.")
    with tempfile.TemporaryDirectory() as folder:
        pin = Path(folder, "uv.txt")
        pin.write_text(pinned[0], "utf-8")
        step("Unpacking pip", PYTHON, "-m", "ensurepip")
        pip = (PYTHON, "-m", "pip", "install", "--only-binary=:all:", "--no-deps", "--force-reinstall")
        step("Fetching the installer uv", *pip, "--require-hashes", "-r", pin)
    return UV


def prepare(*files: str) -> None:
    """Makes .venv hold this package and what these requirement files pin; returns at once where it does."""
    uv: str | Path | None = None
    if not os.path.lexists(VENV):
        print("Making the environment (once, about a minute)...", flush=True)
        uv = machine_uv()
        maker = (uv, "venv", "--python", sys.executable) if uv else (sys.executable, "-m", "venv", "--without-pip")
        step("Making .venv", *maker, VENV)
    version = check_venv()
    try:
        stamp = json.loads(STAMP.read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        stamp = {}
    common = version.encode() + (ROOT / "pyproject.toml").read_bytes()
    wanted = {name: hashlib.sha256(common + (ROOT / name).read_bytes()).hexdigest() for name in files}
    # Without a stamp an earlier run was interrupted, maybe in the middle of a package. In another place than before,
    # scripts name a folder that is gone.
    whole = stamp.get("folder") == str(ROOT)
    missing = [name for name in files if not whole or stamp.get(name) != wanted[name]]
    if not missing:
        return
    STAMP.unlink(missing_ok=True)
    print("Filling the environment...", flush=True)
    install = (uv or machine_uv() or own_uv(), "pip", "install", "--python", PYTHON)
    again = () if whole else ("--reinstall",)
    for name in missing:
        step(f"Installing what {name} pins", *install, "--compile-bytecode", "--require-hashes", *again, "-r", name)
    # Nothing is fetched here: what builds the package (hatchling) is pinned too.
    step("Installing the course", *install, "--no-deps", "--no-build-isolation", "--reinstall", "-e", ".")
    settings = VENV / "share/jupyter/lab/settings"
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "overrides.json").write_text(json.dumps(OVERRIDES), "utf-8")
    STAMP.write_text(json.dumps({**(stamp if whole else {}), "folder": str(ROOT), **wanted}), "utf-8")


def port_problem(port: int) -> str | None:
    with socket.socket() as probe:
        # As Jupyter's own socket does on each system: a port that a stopped lab has just left is free.
        probe.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR), 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            return error.strerror or str(error)
    return None


def choose_port(asked: int | None) -> int:
    if asked is None:
        free = next((port for port in range(8888, 8988) if not port_problem(port)), None)
        return free or fail("All ports from 8888 to 8987 are taken; name another one with --port.")
    if not 1 <= asked <= 65535:
        fail(f"There is no port {asked}: a port is a number from 1 to 65535.")
    problem = port_problem(asked)
    if problem:
        fail(f"Port {asked} cannot be used ({problem}); name another one, or leave --port out.")
    return asked


def ask(port: int, token: str, method: str, path: str, seconds: float) -> int | None:
    """Status of an answer from JupyterLab, None without one; http.client because it knows no proxies."""
    connection = http.client.HTTPConnection(HOST, port, timeout=seconds)
    try:
        connection.request(method, path, headers={"Authorization": f"token {token}"})
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def open_browser(address: str) -> None:
    if sys.platform not in ("win32", "darwin") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return
    try:
        # This class is that of the browsers that would take over the terminal.
        if type(webbrowser.get()) is not webbrowser.GenericBrowser:
            webbrowser.open(address)
    except webbrowser.Error:
        pass


def stop(server: subprocess.Popen[bytes], port: int, token: str) -> None:
    for number in STOPS:
        signal.signal(number, signal.SIG_IGN)
    # Asked this way, it ends its kernels too, on every system.
    if server.poll() is None and ask(port, token, "POST", "/api/shutdown", 15) is None:
        server.terminate()
    try:
        server.wait(15)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def lab(asked: int | None, browser: bool) -> int:
    choose_port(asked)  # now, for a wrong answer should not come after a minute of installing
    prepare(COURSE)
    port, token = choose_port(asked), secrets.token_hex(24)
    options = {"ip": HOST, "port": port, "port_retries": 0, "root_dir": ROOT, "open_browser": False}
    options |= {"allow_root": hasattr(os, "geteuid") and os.geteuid() == 0}
    command = [PYTHON, "-m", "jupyterlab", "--Application.log_level=ERROR", "--KernelManager.transport_encryption=auto", *(f"--ServerApp.{name}={value}" for name, value in options.items())]
    # What Jupyter and IPython remember lives and dies with .venv; nobody's own configuration or open tabs mix in.
    homes = {"JUPYTER_CONFIG_DIR": "etc/jupyter", "JUPYTER_DATA_DIR": "share/jupyter", "IPYTHONDIR": "share/ipython"}
    env = surroundings(JUPYTER_TOKEN=token, **{name: str(VENV / folder) for name, folder in homes.items()})
    print("Starting JupyterLab...", flush=True)
    # A group of its own, or Ctrl+C would reach it as well, and it would ask whether that was meant.
    flags = subprocess.CREATE_NEW_PROCESS_GROUP if sys.platform == "win32" else 0
    server = subprocess.Popen(
        command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, creationflags=flags, start_new_session=True
    )
    try:
        deadline = time.monotonic() + 120
        while server.poll() is None and ask(port, token, "GET", "/api/status", 2) != 200:
            if time.monotonic() > deadline:
                fail("JupyterLab has not answered for two minutes.")
            time.sleep(0.1)
        if server.poll() is None:
            address = f"http://{HOST}:{port}/{FIRST_PAGE}?token={token}"
            print(f"The course is at {address} (Ctrl+C stops it)", flush=True)
            if browser:
                open_browser(address)
        while server.poll() is None:
            time.sleep(0.2)
        if server.returncode:
            fail("JupyterLab ended, see above. If that happens again, delete .venv and run this once more.")
    except KeyboardInterrupt:
        print("\nStopping JupyterLab...", flush=True)
    finally:
        stop(server, port, token)
    return 0


def test(arguments: list[str]) -> int:
    """Runs everything, also after a failure; the exit code is that of the first failure."""
    prepare(COURSE, DEV)
    everything = ["ruff check", "ruff format --check", "mypy", "pytest -n 2 --dist loadfile"]
    first = 0
    with tempfile.TemporaryDirectory(prefix="toolworthy-", ignore_cleanup_errors=True) as home:
        env = surroundings(TOOLWORTHY_HOME=home)  # not the learner's own progress
        for module, *options in [["pytest", *arguments]] if arguments else map(str.split, everything):
            print(f"\n{' '.join([module, *options])}", flush=True)
            child = subprocess.Popen([PYTHON, "-m", module, *options], cwd=ROOT, env=env)
            try:
                code = child.wait()
            except KeyboardInterrupt:
                try:
                    child.wait(10)  # Ctrl+C reached it too, and pytest has workers to end
                finally:
                    child.kill()
                raise
            first = first or code
    return first


def pins(upgrade: bool) -> int:
    uv: str | Path | None = UV if run(UV, "--version")[0] == 0 else machine_uv()
    if uv is None:
        prepare(COURSE)
        uv = UV
    options = ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-emit-index-url", "--no-annotate"]
    options += ["--custom-compile-command", "python start.py pins", *(["--upgrade"] if upgrade else [])]
    compiler = (uv, "pip", "compile")
    step(f"Pinning {COURSE}", *compiler, "pyproject.toml", "--extra", "course", *options, "-o", COURSE)
    step(f"Pinning {DEV}", *compiler, "--group", "dev", "-c", COURSE, *options, "-o", DEV)
    return 0


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        fail(f"{message}; python start.py --help tells more.")


def main() -> int:
    if sys.version_info < (3, 11):  # noqa: UP036 - an older Python must get as far as this sentence
        fail(f"Toolworthy needs Python 3.11 or newer; this is {sys.version.split()[0]} ({sys.executable}).")
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    commands = parser.add_subparsers(dest="command", metavar="command", required=True, help=argparse.SUPPRESS)
    for_lab = commands.add_parser("lab", description="Opens the course in JupyterLab.")
    for_lab.add_argument("--port", type=int, help="instead of 8888, or the next free one")
    for_lab.add_argument("--no-browser", action="store_true", help="only print the address")
    commands.add_parser("test", add_help=False)
    for_pins = commands.add_parser("pins", description="Renews requirements.txt and requirements-dev.txt.")
    for_pins.add_argument("--upgrade", action="store_true", help="to the newest versions that pyproject.toml allows")
    given, others = parser.parse_known_args()
    if others and given.command != "test":
        parser.error(f"unknown arguments: {' '.join(others)}")
    for number in STOPS:
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup
            signal.signal(number, signal.default_int_handler)
    try:
        if given.command == "lab":
            return lab(given.port, not given.no_browser)
        return test(others) if given.command == "test" else pins(given.upgrade)
    except KeyboardInterrupt:
        print("\nStopped; run this again to continue.", file=sys.stderr)
        return 130
    except OSError as error:
        fail(f"That did not work: {error}")


if __name__ == "__main__":
    sys.exit(main())
