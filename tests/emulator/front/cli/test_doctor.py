"""`ringhil doctor` tries what features need, and says what is missing."""

import json
import os
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.command import ringhil

ROOT = Path(__file__).resolve().parents[4]
FOR_OURSELVES = {"all", "docs", "fuzz", "page", "test"}  # extras of who changes ringhil


def told(code: int, **environment: str) -> dict[str, dict[str, Any]]:
    """Features by name, as they are told in this environment."""
    given = {name: value for name, value in os.environ.items() if name != "CXX"}
    done = ringhil("doctor", "--json", env=given | environment)
    assert (done.returncode, done.stderr) == (code, "")
    document = json.loads(done.stdout)
    assert document["works"] is (code == 0)
    return {feature["feature"]: feature for feature in document["features"]}


def lacking(feature: dict[str, Any]) -> dict[str, str]:
    """What it lacks, and how to get it."""
    missing = {need["name"]: need["get"] for need in feature["needs"] if need["get"] is not None}
    assert feature["works"] is (not missing)
    return missing


def folder_with(folder: Path, *programs: str) -> Path:
    """A folder for PATH that has these alone."""
    folder.mkdir()
    for name in programs:
        where = shutil.which(name)
        assert where is not None
        (folder / name).symlink_to(where)
    return folder


def test_with_a_compiler_alone_the_core_works_and_each_missing_program_has_its_package(tmp_path: Path) -> None:
    path = folder_with(tmp_path / "bin", "c++", "as", "ld")
    found = told(0, PATH=str(path), RINGHIL_CACHE=str(tmp_path / "cache"))
    assert lacking(found["core"]) == {}
    packages = {
        "benches": {"iverilog": "iverilog"},
        "fpga": {"make": "make"},
        "board": {"qemu-system-arm": "qemu-system-arm"},
        "places": {"addr2line": "binutils"},
        "wireshark": {"tshark": "tshark"},
        "lending-qemu": {"qemu-system-x86_64": "qemu-system-x86"},
        "lending-libvirt": {"virsh": "libvirt-clients"},
    }
    for name, wanted in packages.items():
        assert {k: f"apt-get install {v}" for k, v in wanted.items()}.items() <= lacking(found[name]).items()
    assert not lacking(found["lending"]), "the model of guests needs none of them"
    assert "chromium" in lacking(found["view"])["browser"]


BROKEN_COMPILER = '#!/bin/sh\n[ "$1" = --version ] && echo g++ 12 || { echo no room >&2; exit 1; }\n'


@pytest.mark.parametrize(
    ("broken", "need", "how"),
    [
        ("no compiler", "C++ compiler", "apt-get install g++"),
        ("a compiler that fails", "C++ compiler", "apt-get install g++"),
        ("a cache that can't be made", "cache", "RINGHIL_CACHE"),
    ],
)
def test_without_a_compiler_that_works_or_a_cache_the_core_does_not(
    tmp_path: Path, broken: str, need: str, how: str
) -> None:
    path, cache = folder_with(tmp_path / "bin"), tmp_path / "cache"
    if broken == "a compiler that fails":
        (path / "g++").write_text(BROKEN_COMPILER)
        (path / "g++").chmod(0o755)
    if broken == "a cache that can't be made":
        cache.touch()
    missing = lacking(told(1, PATH=str(path), RINGHIL_CACHE=str(cache))["core"])
    assert list(missing) == [need]
    assert how in missing[need]


def test_each_extra_for_users_is_in_all_and_asked_for_by_a_feature() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (everything,) = extras["all"]
    wanted = set(extras) - FOR_OURSELVES
    assert everything == f"ringhil[{','.join(sorted(wanted))}]"
    found = told(0)
    for extra in wanted:
        (packages,) = [need["found"] for need in found[extra]["needs"] if need["name"] == "Python packages"]
        for requirement in extras[extra]:
            assert requirement.partition(">=")[0] in packages


def test_for_people_it_says_the_same_as_for_programs(tmp_path: Path) -> None:
    path = folder_with(tmp_path / "bin", "c++", "as", "ld")
    environment = {name: value for name, value in os.environ.items() if name != "CXX"} | {"PATH": str(path)}
    done = ringhil("doctor", env=environment)
    assert done.returncode == 0
    for name, feature in told(0, PATH=str(path)).items():
        mark = "ok  " if feature["works"] else "no  "
        assert f"{mark} {name}: {feature['what']}" in done.stdout.splitlines()
        for how in lacking(feature).values():
            assert f"get it: {how}" in done.stdout
