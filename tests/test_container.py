"""`Containerfile` makes an image in which ringhil runs. The base is made of Debian's packages: no registry is asked for
images."""

import configparser
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = Path("/etc/apt/sources.list.d/debian.sources")
RELEASE = "bookworm"
FILE = "server: {cards: {a: {gpus: 4}}}\nworkload: {units: 8, size: 100}\nuntil: 20000\n"


def called(*words: str | Path, cwd: Path | None = None) -> str:
    """What a command prints that succeeds."""
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def settings_of_pip(file: Path) -> list[str]:
    """Options of buildah, with which pip finds packages where it does outside, and trusts whom it trusts there."""
    settings = configparser.ConfigParser(interpolation=None)
    settings.read(["/etc/pip.conf", Path.home() / ".config" / "pip" / "pip.conf"])
    if not settings.has_section("global"):
        settings.add_section("global")
    mounted = {file: "/etc/pip.conf"}
    if authority := os.environ.get("PIP_CERT") or settings.get("global", "cert", fallback=""):
        settings.set("global", "cert", "/authority.pem")
        mounted[Path(authority)] = "/authority.pem"
    with file.open("w") as there:
        settings.write(there)
    return [word for outside, inside in mounted.items() for word in ("--volume", f"{outside}:{inside}:ro")]


@pytest.mark.slow(part="packages")
def test_the_image_counts_a_ring_and_lacks_nothing_that_the_core_needs(tmp_path: Path) -> None:
    missing = [program for program in ("buildah", "mmdebstrap") if shutil.which(program) is None]
    if os.getuid() != 0 or not SOURCES.exists() or missing:
        pytest.skip("not judged: needs root of a Debian with `apt-get install buildah mmdebstrap`")
    context = tmp_path / "context"
    called(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", context / "dist", ROOT)
    shutil.copy(ROOT / "Containerfile", context)
    store = [str(word) for name in ("root", "runroot") for word in (f"--{name}", tmp_path / name)]
    buildah = ["buildah", "--storage-driver", "vfs", *store]
    called("mmdebstrap", "--quiet", "--variant=apt", RELEASE, tmp_path / "base.tar", SOURCES)
    base = called(*buildah, "from", "scratch").strip()
    called(*buildah, "add", base, tmp_path / "base.tar", "/")
    called(*buildah, "commit", "--quiet", base, "base")
    pip = settings_of_pip(tmp_path / "pip.conf")
    called(
        *buildah, "build", "--isolation", "chroot", "--build-arg", "BASE=localhost/base", *pip, "-t", "image", context
    )

    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "server.yaml").write_text(FILE)
    container = called(*buildah, "from", "localhost/image").strip()
    run = [
        *buildah,
        "run",
        "--isolation",
        "chroot",
        "--volume",
        f"{tmp_path / 'work'}:/work",
        container,
        "--",
        "ringhil",
    ]
    assert json.loads(called(*run, "run", "server.yaml", "--json"))["verdict"] == "pass"
    told = json.loads(called(*run, "doctor", "--json"))
    works = {feature["feature"] for feature in told["features"] if feature["works"]}
    assert {"core", "places", "prove"} <= works
