"""Proves claims of a node: what it needs is copied into a directory, each claim gets a model and a verdict."""

import re
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ringhil.emulator.build.cache import cache_dir
from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.node_rtl import NODE, defined, sources
from ringhil.emulator.build.toolchain import find_verilator
from ringhil.emulator.children import temporary_folder
from ringhil.emulator.conformance import lint, ports
from ringhil.emulator.proofs import prover
from ringhil.emulator.proofs.claims import COMMON, HDL, PORTS, NodeClaim, chosen
from ringhil.emulator.proofs.counterexample import read_inputs
from ringhil.emulator.proofs.prover import ProverError
from ringhil.emulator.proofs.replay import replay, telling
from ringhil.emulator.proofs.report import ProofReport, ProofVerdict
from ringhil.emulator.proofs.tools import OutOfTimeError, needed, stop_tools

TOP = "ringhil_environment"
RESET = 3  # cycles, in which nothing is claimed
PATIENCE = 1800.0  # seconds for each proof
_STATE = "state.svh"
# Names that no source of a user's has.
_PREFIX = "_ringhil_"
_DIAGNOSTIC = re.compile(
    r"^(?P<file>[^\s:]+\.s?v):(?P<place>\d+(?::\d+)?): (?:ERROR|error): (?P<text>.*)$", re.MULTILINE
)
_ERROR = re.compile(r"^ERROR: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class ProveSettings:
    """`names`: only these claims, or groups of them. `depth`: cycles after reset, in place of each claim's own. `jobs`:
    proofs at a time. `patience`: seconds for each. `out`: where waves of counterexamples go."""

    names: tuple[str, ...] = ()
    depth: int | None = None
    jobs: int = 1
    patience: float = PATIENCE
    out: Path = Path("ringhil-prove")


Progress = Callable[[str], None]


def prove(
    rtl: Path, top: str = NODE, settings: ProveSettings | None = None, progress: Progress = lambda text: None
) -> ProofReport:
    """Prove claims of the node `top` in directory `rtl`.

    Raises BuildError, with one line, when nothing can be proved of it: a tool is missing, its ports are wrong, it
    doesn't compile, or Yosys refuses what it is made of.
    """
    asked = settings if settings is not None else ProveSettings()
    claims = chosen(asked.names)
    if asked.out.exists() and not asked.out.is_dir():
        raise BuildError(f"{asked.out}: it is a file; name a folder")
    files = sources(rtl)
    defined(files, top)
    needed()
    progress("ports")
    verilator = find_verilator(cache_dir() / "versions")
    lint.warnings(files, top, verilator)  # a loop is said here with its place
    found = ports.ports_of(files, top, verilator)
    wrong = ports.compare(top, found)
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise BuildError(wrong[0] + more, "\n".join(wrong))
    restless = not any(port.name == "quiescent_o" for port in found)
    if restless and asked.names and any(claim.leaps for claim in claims):
        named = " and ".join(claim.name for claim in claims if claim.leaps)
        raise BuildError(f"{top}: it has no port quiescent_o, so nothing is claimed of {named}; leave that out")
    report = ProofReport(str(rtl), top, [ProofVerdict(c) for c in claims if not (restless and c.leaps)])
    with temporary_folder("ringhil-prove-") as scratch:
        one = _Prover(files, top, restless, scratch, asked, progress)
        with ThreadPoolExecutor(asked.jobs) as pool:
            try:
                for done in [pool.submit(one.judge, verdict) for verdict in report.verdicts]:
                    done.result()
            except BaseException:
                one.stop()
                pool.shutdown(cancel_futures=True)
                raise
    return report


class _Prover:
    """The sources of one node, and its claims one by one."""

    def __init__(
        self, files: Sequence[Path], top: str, restless: bool, scratch: Path, asked: ProveSettings, progress: Progress
    ) -> None:
        self._files, self._top, self._scratch = files, top, scratch
        self._asked, self._progress, self._restless = asked, progress, restless
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End what runs, begin nothing more."""
        self._stopped.set()
        stop_tools()

    def judge(self, verdict: ProofVerdict) -> None:
        """Fill in the verdict of a claim. Raises BuildError for RTL that Yosys refuses."""
        claim, until = verdict.claim, time.monotonic() + self._asked.patience
        depth = self._asked.depth or claim.depth
        try:
            directory = self._scratch / claim.name
            model = self._model(directory, claim, until, small=True)
            said = f"{claim.name}: cycle {{}} of {depth}"
            searched = prover.search_twice(
                model,
                RESET + depth - 1,
                until - time.monotonic(),
                lambda step: self._progress(said.format(max(0, step - RESET + 1))),
            )
            verdict.depth = max(0, searched.steps - RESET)
            if searched.failed:
                self._broken(verdict, directory, searched)
            elif searched.late:
                late = f"out of time after {self._asked.patience:g} s"
                verdict.why = f"{late}; no counterexample of {verdict.depth} cycles"
            else:
                verdict.state, verdict.why = "holds", ""
                if claim.induction and self._inductive(directory, model, claim, until):
                    verdict.state = "proved"
        except OutOfTimeError:
            verdict.why = f"out of time after {self._asked.patience:g} s; Yosys made no model"
        except ProverError as error:
            verdict.why = " ".join(str(error).split())[-300:]
        self._progress(f"{claim.name}: {verdict.state}")

    def _broken(self, verdict: ProofVerdict, directory: Path, searched: prover.Searched) -> None:
        """A counterexample counts when the simulator, given the same inputs, sees an assertion fail in that cycle."""
        verdict.assertion = _label(searched.failed)
        if searched.trace is None:
            verdict.why = "the solver left no trace of its counterexample"
            return
        claim = verdict.claim
        self._progress(f"{claim.name}: counterexample")
        inputs = read_inputs(searched.trace.read_text())[: searched.steps + 1]
        files = []
        for name in self._names(claim):
            file = directory / name
            if name.startswith(_PREFIX):
                file = directory / f"told{name}"
                file.write_text(telling((directory / name).read_text()))
            files.append(file)
        try:
            played = replay(TOP, files, self._defines(claim), inputs, RESET, directory / "replay")
        except BuildError as error:
            verdict.why = f"the counterexample can't be played: {error}"
            return
        verdict.trace = played.trace
        self._asked.out.mkdir(parents=True, exist_ok=True)
        verdict.wave = self._asked.out / f"{claim.name}.vcd"
        shutil.copy(played.waves or searched.trace, verdict.wave)
        if played.broken:
            verdict.state, verdict.why, verdict.assertion = "broken", "", played.broken[0]
        else:
            verdict.why = f"the simulator doesn't see the counterexample ({verdict.wave}): a register without a reset?"

    def _inductive(self, directory: Path, model: Path, claim: NodeClaim, until: float) -> bool:
        """Whether it holds for ever. Out of time, or without a result, it isn't known to."""
        try:
            if claim.state:
                model = self._model(directory / "inductive", claim, until, small=False)
                # The invariant that makes it inductive must hold from reset on as well.
                base = prover.search(model, RESET + claim.induction, until - time.monotonic())
                if base.failed or base.late:
                    return False
            self._progress(f"{claim.name}: induction")
            found = prover.search(
                model, claim.induction, until - time.monotonic(), inductive=True, unroll=not claim.state
            )
        except (OutOfTimeError, ProverError):
            return False
        return found.k is not None

    def _model(self, directory: Path, claim: NodeClaim, until: float, *, small: bool) -> Path:
        if self._stopped.is_set():
            raise ProverError("interrupted")
        self._progress(f"{claim.name}: model")
        directory.mkdir(parents=True)
        for file in self._files:
            shutil.copyfile(file, directory / file.name)
        ports_text = (HDL / PORTS).read_text()
        for module in (*COMMON, claim.module):
            text = (HDL / f"{module}.sv").read_text()
            (directory / f"{_PREFIX}{module}.sv").write_text(text.replace(f'`include "{PORTS}"', ports_text))
        names, defines = self._names(claim), self._defines(claim)
        try:
            if small:
                return self._elaborate(directory, claim.name, names, defines, until, small=True)
            defines.append("RINGHIL_STATE")
            (directory / _STATE).write_text("")
            first = self._elaborate(directory, claim.name, names, defines, until, keep=True)
            (directory / _STATE).write_text(prover.comparisons(first.read_text()))
            return self._elaborate(directory, claim.name, names, defines, until)
        except ProverError as error:
            raise self._refused(str(error)) from error

    def _names(self, claim: NodeClaim) -> list[str]:
        return [file.name for file in self._files] + [f"{_PREFIX}{m}.sv" for m in (*COMMON, claim.module)]

    def _defines(self, claim: NodeClaim) -> list[str]:
        restless = ["RINGHIL_NO_QUIESCENCE"] if self._restless else []
        return [f"RINGHIL_NODE={self._top}", *claim.defines, *restless]

    def _elaborate(
        self,
        directory: Path,
        name: str,
        files: list[str],
        defines: list[str],
        until: float,
        *,
        keep: bool = False,
        small: bool = False,
    ) -> Path:
        # Assertions inside the node are for the simulator (`rtl.ends`).
        before = [f"delete t:$check a:src={_PREFIX}* %d"]
        left = max(1.0, until - time.monotonic())
        return prover.elaborate(
            directory, name, files, TOP, defines, before=before, keep=keep, small=small, timeout=left
        )

    def _refused(self, said: str) -> Exception:
        """What Yosys didn't take: file and line of the user's, if it names them."""
        rtl = {file.name: file for file in self._files}
        for found in _DIAGNOSTIC.finditer(said):
            if found["file"] in rtl:
                return BuildError(f"{rtl[found['file']]}:{found['place']}: {found['text']} (Yosys)", said)
        error = _ERROR.search(said)
        return ProverError(error[1] if error else said)


def _label(place: str) -> str:
    """The name of an assertion, without the scopes around it."""
    return place.strip().rpartition(".")[2]
