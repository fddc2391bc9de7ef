"""Plays one stimulus file to a node and tells what it did, cycle by cycle."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ringhil.emulator.build.cache import cache_dir
from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.node_rtl import defined, sources
from ringhil.emulator.build.toolchain import find_verilator
from ringhil.emulator.children import temporary_folder
from ringhil.emulator.conformance import lint, ports
from ringhil.emulator.conformance.check import bench_sources
from ringhil.emulator.testbench.build import Simulator, build_bench
from ringhil.emulator.testbench.frame import KIND_NAMES
from ringhil.emulator.testbench.runner import run_bench
from ringhil.emulator.testbench.stimulus import Stimulus
from ringhil.emulator.testbench.waves import record_waves
from ringhil.emulator.trace.naming import fields_of


def played(
    stimulus: Path,
    rtl: Path,
    top: str,
    simulator: Simulator,
    waves: Path | None,
    progress: Callable[[str], None],
) -> dict[str, Any]:
    """What the node did, as plain data: fields of `Observed`, and in each frame its own as `fields`. Raises BuildError
    and StimulusError."""
    Stimulus.read(stimulus)
    files = sources(rtl)
    defined(files, top)
    verilator = find_verilator(cache_dir() / "versions")
    lint.warnings(files, top, verilator)
    found = ports.ports_of(files, top, verilator)
    wrong = ports.compare(top, found)
    if wrong:
        raise BuildError(wrong[0], "\n".join(wrong))
    bench_files, defines = bench_sources(files, top, found)
    bench = build_bench(simulator, "node_bench", bench_files, defines=defines, progress=progress)
    with temporary_folder("ringhil-play-") as scratch:
        out = scratch / "observed.json"
        settings = {"RINGHIL_STIMULUS": str(stimulus.absolute()), "RINGHIL_OBSERVED": str(out)}
        run = run_bench(bench, ["ringhil.emulator.testbench.replay"], scratch, settings=settings)
        if run.failed:
            raise BuildError(f"{stimulus}: {run.failed[0].failure}")
        observed: dict[str, Any] = json.loads(out.read_text())
    for frame in _frames(observed):
        frame["fields"] = _fields(frame)
    if waves is not None:
        record_waves(simulator, bench_files, defines, stimulus, waves, progress)
    return observed


def lines(observed: dict[str, Any]) -> Iterator[str]:
    """One line for each thing that happened, by cycle."""
    events: list[tuple[int, str]] = []
    for way, arrow in (("arrived", "->"), ("left", "<-")):
        for link, frames in observed[way].items():
            events += [(f["began"], f"{link:8} {arrow} {_frame(f)}") for f in frames]
    for link, levels in observed["levels"].items():
        for cycle, up, fault in levels:
            events.append((cycle, f"{link:8} <- carrier {'up' if up else 'down'}, remote fault {int(fault)}"))
    for link, cycles in observed["credits"].items():
        events += [(cycle, f"{link:8} <- credit") for cycle in cycles]
    for mail in observed["mail"]:
        bad = ", bad" if mail["bad"] else ""
        events.append((mail["ended"], f"mailbox  <- port {mail['port']}: {_kind(mail['data'])}{bad} {_content(mail)}"))
    for cycle, register, value in observed["peeks"]:
        events.append((cycle, f"register {register} = {value}"))
    for breach in observed["breaches"]:
        events.append((breach["cycle"], f"broken   {breach['rule']}: {breach['what']}"))
    yield from (f"{cycle:8} {text}" for cycle, text in sorted(events))
    changed = ", ".join(f"{name} {value}" for name, value in observed["registers"].items() if value)
    yield f"registers at the end (others are 0): {changed}"


def _frames(observed: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for way in ("arrived", "left"):
        for frames in observed[way].values():
            yield from frames
    yield from observed["mail"]


def _fields(frame: dict[str, Any]) -> dict[str, str]:
    """By name, in words; of a frame that has lost its beginning nothing is known."""
    data = bytes.fromhex(frame["data"])
    whole = frame.get("sof", True) and frame.get("whole", True)
    return {field.title: field.shown(data) for field in fields_of(data)} if whole else {}


def _content(frame: dict[str, Any]) -> str:
    """The fields but for the kind, which is told before; bytes where there are none."""
    fields = frame["fields"]
    return ", ".join(f"{name} {value}" for name, value in fields.items() if name != "kind") or str(frame["data"])


def _kind(data: str) -> str:
    return KIND_NAMES.get(int(data[:2] or "0", 16), "unknown")


def _frame(frame: dict[str, Any]) -> str:
    notes = [name for name, on in (("marked", frame["err"]), ("no beginning", not frame["sof"])) if on]
    notes += ["no end"] if not frame["eof"] else []
    text = f" ({', '.join(notes)})" if notes else ""
    return f"{frame['channel']} {_kind(frame['data'])}{text} until {frame['ended']}: {_content(frame)}"
