"""pyproject.toml says which versions may be used, two requirement files which are, and environment.yml uses these."""

import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
COURSE, DEV = "requirements.txt", "requirements-dev.txt"
ASKED_FOR = {
    COURSE: PROJECT["project"]["dependencies"]
    + PROJECT["project"]["optional-dependencies"]["course"]
    + PROJECT["build-system"]["requires"],  # start.py builds this package with what is installed
    DEV: PROJECT["dependency-groups"]["dev"],
}


def entries(file: str) -> list[tuple[Requirement, list[str]]]:
    """Each requirement of a file with its hashes."""
    text = (ROOT / file).read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(Requirement(what), hashes) for what, *hashes in (line.split(" --hash=") for line in lines)]


def pins(file: str) -> dict[str, set[Version]]:
    """The versions of each package; more than one where they depend on the platform or on Python."""
    found: dict[str, set[Version]] = {}
    for requirement, _ in entries(file):
        (exactly,) = requirement.specifier
        assert exactly.operator == "==", f"{file}: {requirement} is not one version"
        found.setdefault(canonicalize_name(requirement.name), set()).add(Version(exactly.version))
    return found


@pytest.mark.parametrize("file", [COURSE, DEV])
def test_every_dependency_is_pinned_inside_its_range(file: str) -> None:
    pinned = pins(file)
    for asked in map(Requirement, ASKED_FOR[file]):
        versions = pinned.get(canonicalize_name(asked.name), set())
        assert versions, f"{file} does not pin {asked.name}: python start.py pins"
        outside = [str(version) for version in versions if version not in asked.specifier]
        assert not outside, f"{file} pins {asked.name} at {outside}, pyproject.toml says {asked.specifier}"


@pytest.mark.parametrize("file", [COURSE, DEV])
def test_every_pin_has_hashes(file: str) -> None:
    for requirement, hashes in entries(file):
        assert hashes, f"{file}: {requirement} has no hash"
        for value in hashes:
            kind, _, digits = value.strip().partition(":")
            assert kind == "sha256" and len(bytes.fromhex(digits)) == 32, f"{file}: {requirement} has {value}"


def test_packages_in_both_files_have_one_version() -> None:
    course, dev = pins(COURSE), pins(DEV)
    for name in course.keys() & dev.keys():
        assert dev[name] <= course[name], f"{name}: {dev[name]} in {DEV}, {course[name]} in {COURSE}"


def test_no_file_says_where_packages_come_from() -> None:
    for file in (COURSE, DEV, "environment.yml"):
        assert "://" not in (ROOT / file).read_text("utf-8"), f"{file} holds an address"
    for file in (COURSE, DEV):
        options = [line for line in (ROOT / file).read_text("utf-8").splitlines() if line.startswith("-")]
        assert not options, f"{file} holds options for the installer"
    assert "channels" not in yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))
    assert not [setting for setting in PROJECT["tool"].get("uv", {}) if "index" in setting or setting == "sources"]
    assert not [text for texts in ASKED_FOR.values() for text in texts if Requirement(text).url]


def test_conda_gets_the_same() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))
    assert environment["name"] == PROJECT["project"]["name"]
    python, pip, from_pip = environment["dependencies"]
    assert SpecifierSet(python.removeprefix("python")) == SpecifierSet(PROJECT["project"]["requires-python"])
    assert pip == "pip"
    assert from_pip == {"pip": [f"-r {COURSE}"]}


def test_what_runs_here_is_what_is_pinned() -> None:
    for file in (COURSE, DEV):
        for requirement, _ in entries(file):
            if requirement.marker is None or requirement.marker.evaluate():
                installed = Version(metadata.version(requirement.name))
                assert installed in requirement.specifier, f"{requirement.name} {installed} runs; {file}: {requirement}"
