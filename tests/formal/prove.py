"""Proofs of parts of our RTL, with what is in them: the table's types, and how one is proved or its twin refuted.

The prover itself, Yosys and a solver, is `ringhil.emulator.proofs`, which `ringhil rtl prove` uses for whole nodes.
"""

import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from ringhil.emulator.proofs import prover
from ringhil.emulator.proofs.prover import Searched

RTL = Path(__file__).resolve().parents[2] / "rtl"
HARNESSES = Path(__file__).parent
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


def prove(proof: Proof, directory: Path, timeout: float = 3600.0) -> Result:
    """Base, then induction. `directory` must be empty; `timeout` is seconds for each step."""
    started = time.monotonic()
    model = _model(proof, directory, None)
    base = _search(model, proof.depth, timeout)
    if base.failed:
        return Result(REFUTED, time.monotonic() - started, None, base.log, base.trace)
    step = _search(model, proof.depth, timeout, inductive=True)
    outcome = UNKNOWN if step.failed else PROVED
    return Result(outcome, time.monotonic() - started, step.k, base.log + step.log, step.trace)


def refute(proof: Proof, directory: Path, timeout: float = 3600.0) -> Result:
    """Search the proof's broken twin for a counterexample that starts with a reset. `directory` must be empty."""
    started = time.monotonic()
    found = _search(_model(proof, directory, proof.twin), proof.twin_depth, timeout)
    return Result(REFUTED if found.failed else UNKNOWN, time.monotonic() - started, None, found.log, found.trace)


def _search(model: Path, depth: int, timeout: float, *, inductive: bool = False) -> Searched:
    found = prover.search(model, depth, timeout, inductive=inductive)
    if found.late:
        raise RuntimeError(f"{model.stem}: the solver took longer than {timeout:g} s")
    return found


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
        (directory / STATE).write_text(prover.comparisons(model.read_text()))
    return _elaborate(proof, directory, keep=False)


def _elaborate(proof: Proof, directory: Path, keep: bool) -> Path:
    files = [f"{name}.sv" for name in ("ringhil_pkg", *proof.rtl, proof.top)]
    return prover.elaborate(directory, proof.name, files, proof.top, proof.defines, keep=keep)
