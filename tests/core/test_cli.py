"""The command line, run as its user runs it: exit codes, one sentence for what is wrong, nothing else on the screen."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.answers import EXERCISES, ROOT
from toolworthy.cli import main

NAIVE = str(ROOT / "servers" / "weather" / "naive.py")


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


@pytest.fixture
def toolworthy(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command in this process: its start, mostly imports, takes two seconds, which one test pays for real."""

    def run(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["toolworthy", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        return Done(int(ended.value.code or 0), out, err)

    return run


def test_the_installed_command() -> None:
    command = str(Path(sys.executable).with_name("toolworthy"))
    done = subprocess.run([command, "audit", NAIVE], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and done.stderr == ""
    assert done.stdout.startswith("5 violations in 1 tool")
    done = subprocess.run([command, "audit", "missing.py"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["audit", "missing.py"], "no file"),
        (["audit"], "Name a server"),
        (["audit", "--", "no-such-program", "-x"], "not found"),
        (["audit", "http://127.0.0.1:9/mcp"], "connection"),
        (["audit", NAIVE, "--format", "pdf"], "pdf"),
        (["nonsense"], "nonsense"),
        (["check", "02.1"], "Name a server"),
        (["check"], "part"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_two(toolworthy: Run, arguments: list[str], words: str) -> None:
    done = toolworthy(*arguments)
    assert done.returncode == 2, done
    assert words.lower() in done.stderr.lower() and done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1 and "Traceback" not in done.stderr


@pytest.mark.parametrize("file", ["crashes.py", "prints.py", "no_run.py", "syntax.py"])
def test_a_server_that_does_not_serve_is_one_sentence_and_exit_code_two(
    toolworthy: Run, files: Path, file: str
) -> None:
    done = toolworthy("audit", str(files / file))
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1


def test_audit_of_a_file_a_command_and_an_object(toolworthy: Run) -> None:
    for target in ([NAIVE], [f"{NAIVE}:mcp"], ["--", sys.executable, NAIVE]):
        done = toolworthy("audit", *target)
        assert done.returncode == 1, done
        assert done.stdout.startswith("5 violations in 1 tool") and done.stderr == ""


def test_audit_as_json_and_html(toolworthy: Run) -> None:
    report = json.loads(toolworthy("audit", NAIVE, "--format", "json", "--era", "handshake").stdout)
    assert report["revision"] == "2025-11-25" and len(report["findings"]) > 5
    assert "<table>" in toolworthy("audit", NAIVE, "--format", "html").stdout


def test_check_hint_progress_and_reset(toolworthy: Run, tmp_path: Path) -> None:
    done = toolworthy("check", "02.1", NAIVE, "--seed", "1")
    assert done.returncode == 1 and done.stdout.startswith("RED  02.1")
    assert toolworthy("check", "99.9", NAIVE).returncode == 2
    assert toolworthy("hint", "02.1").stdout.startswith("1. ")
    assert toolworthy("hint", "99.9").returncode == 2
    assert "red" in toolworthy("progress").stdout
    book = shutil.copy(EXERCISES[0].notebook, tmp_path / "x.ipynb")
    assert "starter already" in toolworthy("reset", "02.1", str(book)).stdout
    assert toolworthy("reset", "02.1", str(tmp_path / "missing.ipynb")).returncode == 2


def test_help_and_version(toolworthy: Run) -> None:
    done = toolworthy("--help")
    assert done.returncode == 0 and all(c in done.stdout for c in ("audit", "check", "hint", "progress", "reset"))
    assert toolworthy("--version").stdout.strip() == "0.1.0"
