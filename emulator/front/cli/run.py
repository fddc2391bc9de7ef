"""`ringhil run`: the main job."""

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import click

from ringhil.emulator.engine.library import RTL, cells_library
from ringhil.emulator.events.firmware import FirmwareSaid
from ringhil.emulator.events.hardware import Advanced, FrameSeen
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.files import is_stream
from ringhil.emulator.front.cli import paced, terminal
from ringhil.emulator.front.cli.boards import firmware_given, node_baud_option, node_option, nodes_given, told
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.options import FILE, firmware_option, json_option, rtl_options, seed_option
from ringhil.emulator.front.cli.report import show
from ringhil.emulator.front.cli.written import check_apart
from ringhil.emulator.judge.outcome import Outcome, VerdictWord
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import Scenario, Workload, load
from ringhil.emulator.server.firmware_choice import FirmwareChoice
from ringhil.emulator.server.hashes import hashes, short
from ringhil.protocol import codec

_SIZE = 4096
_log = logging.getLogger(__name__)


@click.command("run")
@click.argument("server", type=FILE, metavar="SERVER.yaml")
@click.option(
    "--data",
    type=FILE,
    help="Share out the data of this file or directory instead of the workload.",
)
@seed_option
@rtl_options
@firmware_option
@paced.option
@node_option
@node_baud_option
@click.option(
    "--record",
    type=FILE,
    metavar="FILE",
    help="Record the run in this file, for `ringhil replay`; FILE.jsonl: only its messages, as JSON lines.",
)
@click.option("--waves", type=FILE, metavar="FILE.fst", help="Write the waves of all links to this file.")
@json_option
def command(
    server: Path,
    data: Path | None,
    seed: int | None,
    rtl: Path | None,
    top: str,
    firmware: tuple[str, ...],
    clock: int | None,
    nodes: tuple[str, ...],
    node_baud: int,
    record: Path | None,
    waves: Path | None,
    as_json: bool,
) -> int:
    """Power up the server of a file, count its GPUs, share out the work in proportion, play the timeline and judge."""
    results = terminal.beside(as_json, record=record)
    with explained():
        choice = firmware_given(firmware, nodes)
        scenario = _scenario(server, data, seed)
        lines = record if record is not None and _is_lines(record) else None  # the others replace recordings only
        check_apart((server, scenario.workload.data if scenario.workload else None), record=lines, waves=waves)
        check_apart((record if lines is None else None,), waves=waves)
        choice, boards = paced.paced(choice, clock, scenario.server.settings.firmware_latency)
        cards = ", ".join(f"{card.name} ({card.gpus} GPUs)" for card in scenario.server.cards)
        _log.info("loaded %s: seed %d, cards %s", server, scenario.seed, cards)
        with terminal.building() as progress:
            library = cells_library(rtl or RTL, top=top, progress=progress)
        _log.info("engine %s", library.rtl)
        with nodes_given(nodes, node_baud) as outside, terminal.counting("work units") as on_progress:
            played = Run(scenario, library, firmware=choice, nodes=outside, on_progress=on_progress)
            with told(played.server, again=True):
                outcome = _run(played, record, waves, choice, nodes)
    paced.tell(boards)
    known = hashes(scenario, library.rtl, choice)
    if as_json:
        terminal.print_json("run", outcome.to_json() | {"hashes": known} | paced.document(boards))
    else:
        show(outcome, results, short(known))
    return 0 if outcome.verdict is VerdictWord.PASS else 1


def _scenario(path: Path, data: Path | None, seed: int | None) -> Scenario:
    scenario = load(path)
    if seed is not None:
        scenario = replace(scenario, seed=seed)
    if data is not None:
        size = scenario.workload.size if scenario.workload else _SIZE
        scenario = replace(scenario, workload=Workload(None, data, size))
    return scenario


def _is_lines(record: Path) -> bool:
    """JSON lines go to whatever takes them; a recording of the whole run is a file."""
    return record.suffix == ".jsonl" or is_stream(record)


def _run(
    server: Run, record: Path | None, waves: Path | None, firmware: FirmwareChoice, nodes: Sequence[str]
) -> Outcome:
    """Run it, and write what was asked for; waves and JSON lines appear only when the run has come to its end."""
    scenario, rtl = server.scenario, server.engine.library.rtl
    cards = scenario.server.cards
    gpus = server.places.gpus
    with ExitStack() as files:
        commits = []
        if _log.isEnabledFor(logging.DEBUG):
            _log_messages(server.observations, gpus)
        whole = None
        # What writes a run down is loaded by those runs only: it takes as long as a short one.
        if record is not None and _is_lines(record):
            from ringhil.emulator.trace import Recorder

            known = hashes(scenario, rtl, firmware)
            recorder = Recorder(record, name=scenario.name, seed=scenario.seed, rtl=rtl, gpus=gpus, hashes=known)
            server.observations.listen_to_frames(files.enter_context(recorder).frame)
            commits.append(recorder.commit)
        elif record is not None:
            from ringhil.emulator.debug.recorder import RunRecorder

            whole = files.enter_context(
                RunRecorder(record, server, firmware=firmware.given, nodes=nodes, choice=firmware)
            )
        if waves is not None:
            from ringhil.emulator.trace.waves import WaveWriter

            writer = files.enter_context(WaveWriter(waves, server.engine, [card.name for card in cards]))
            server.observations.listen(Advanced, lambda _: writer.drain())
            commits.append(writer.commit)
        outcome = server.run()
        if whole is not None:
            whole.end(outcome)
        for commit in commits:
            commit()
    _log.info("ended after %d cycles: %s", outcome.cycles, outcome.verdict)
    return outcome


def _log_messages(observations: Stream, gpus: Sequence[str]) -> None:
    """Every message of a run with its cycle, GPU and way, and what firmware says."""

    def frame(seen: FrameSeen) -> None:
        try:
            # The link puts its CRC in later, or has checked it already.
            kind = type(codec.decode(seen.frame, link=False)).__name__.lower()
        except codec.FrameError:
            kind = "damaged"
        bad = ", bad" if seen.bad else ""
        _log.debug("%d %s %s %s, %d bytes%s", seen.cycle, gpus[seen.cell], seen.WAY, kind, len(seen.frame), bad)

    observations.listen_to_frames(frame)
    observations.listen(FirmwareSaid, lambda said: _log.debug("%d %s says %s", said.cycle, gpus[said.cell], said.what))
