"""`ringhil serve`: the management ports of emulated cards, for programs outside."""

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from ringhil.emulator.debug.recorder import RunRecorder
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.files import is_stdout
from ringhil.emulator.front.cli import paced
from ringhil.emulator.front.cli.boards import firmware_given, node_baud_option, node_option, nodes_given, told
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.options import FILE, WholeNumber, firmware_option
from ringhil.emulator.front.cli.terminal import building, print_json
from ringhil.emulator.groups.desk import GroupDesk
from ringhil.emulator.groups.mount import GroupMount, GroupMountError, check_mount
from ringhil.emulator.judge.run import Run
from ringhil.emulator.loop.apart import waiting
from ringhil.emulator.nvml.listener import nvml_listener, samples_every
from ringhil.emulator.scenario import load
from ringhil.emulator.serial.line import BAUD, BAUDS
from ringhil.emulator.serial.server.clients import Note
from ringhil.emulator.serial.server.lines import ClientLine, ListenError, TcpListener
from ringhil.emulator.serial.server.listening import ALLOWED, for_one_card, opened
from ringhil.emulator.serial.server.serving import Serving
from ringhil.emulator.serial.uart import link_library
from ringhil.emulator.server.firmware_choice import FirmwareChoice
from ringhil.emulator.server.node_choice import NodeChoice
from ringhil.emulator.terminated import Terminated
from ringhil.emulator.trace import RecordingError

_SAVED = 1.0  # seconds of a session that a crash may cost


@click.command("serve")
@click.argument("file", type=FILE, metavar="SERVER.yaml")
@click.option(
    "--listen", "where", multiple=True, metavar="WHERE", help=f"Where clients connect: {ALLOWED}; may be repeated."
)
@click.option("--card", "names", multiple=True, metavar="NAME", help="Serve only this card; may be repeated.")
@paced.option
@click.option("--baud", type=WholeNumber(*BAUDS), help="Baud rate of the lines; needs --clock.")
@click.option("--uart", is_flag=True, help="Pass each byte through two UARTs in RTL, bit by bit; needs --baud.")
@firmware_option
@node_option
@node_baud_option
@click.option(
    "--record",
    type=FILE,
    help="Record the session, for `ringhil replay` and `ringhil step`.",
)
@click.option(
    "--groups",
    "folder",
    type=FILE,
    metavar="DIR",
    help="Show the applications' groups as files in this empty directory, by FUSE.",
)
@click.option(
    "--nvml",
    "socket",
    type=FILE,
    metavar="SOCKET",
    help="Answer monitoring tools at this socket: see `ringhil nvml`.",
)
@click.option("--json", "as_json", is_flag=True, help="Print where the ports are as one JSON document.")
def command(
    file: Path,
    where: tuple[str, ...],
    names: tuple[str, ...],
    clock: int | None,
    baud: int | None,
    uart: bool,
    firmware: tuple[str, ...],
    nodes: tuple[str, ...],
    node_baud: int,
    record: Path | None,
    folder: Path | None,
    socket: Path | None,
    as_json: bool,
) -> None:
    """Emulate a server, with a management port for each card, until SIGINT or SIGTERM."""
    if baud is not None and clock is None:
        raise click.UsageError("--baud: needs --clock, which says how long a cycle takes")
    if socket is not None and record is not None and folder is not None:
        raise click.UsageError("--groups: with --nvml, processes of this machine join them, and can't be recorded")
    if uart and baud is None:
        raise click.UsageError("--uart: needs --baud, the speed of the card's UART")
    if folder is not None:
        with _mounting():
            check_mount(folder)
    with ExitStack() as stack:
        with explained():
            scenario = load(file)
            cards = [card.name for card in scenario.server.cards]
            served = [name for name in cards if not names or name in names]
            if unknown := [name for name in names if name not in cards]:
                raise click.UsageError(f"--card: found {unknown[0]!r}; there are {', '.join(cards)}")
            if len(served) > 1 and (one := [each for each in where if for_one_card(each)]):
                other = "with port 0 each gets a free one" if "://" in one[0] else "'pty' is one for each"
                problem = f"is for one card, and there are {', '.join(served)}"
                raise click.UsageError(f"--listen {one[0]}: {problem}; {other}, and --card NAME serves one only")
            with building():
                library = cells_library()
                wires = link_library() if uart else None
            choice, boards = paced.served(
                firmware_given(firmware, nodes), clock, scenario.server.settings.firmware_latency
            )
            outside = stack.enter_context(nodes_given(nodes, node_baud))
            run = Run(scenario, library, firmware=choice, nodes=outside)
        stack.callback(run.close)
        stack.callback(run.server.close_work)
        stack.enter_context(told(run.server))
        ports: dict[str, list[str]] = {}
        lines = list[tuple[int, TcpListener | ClientLine]]()
        recorder: RunRecorder | None = None
        with ExitStack() as opening:
            for number, name in enumerate(cards):
                if name not in served:
                    continue
                for each in where or ("pty",):
                    with _line_of_text():
                        line = opened(each, baud=baud or BAUD)
                    opening.callback(line.close)
                    ports.setdefault(name, []).append(line.name)
                    lines.append((number, line))
            samples = None if socket is None else samples_every(clock)
            if record is not None:
                with explained():
                    recorder = stack.enter_context(_recorder(record, run, choice, outside, clock, samples))
            monitoring = None
            if samples is not None and socket is not None:
                with explained():
                    monitoring = nvml_listener(socket, run.server, samples)
                opening.callback(monitoring.close)
            opening.pop_all()
        note = None if recorder is None else recorder.note
        serving = Serving(run, clock=clock, baud=baud, uart=wires, note=note, lost=_lost)
        stack.callback(serving.close)
        for number, line in lines:
            serving.add(number, line) if isinstance(line, ClientLine) else serving.listen(number, line)
        if monitoring is not None:
            stack.callback(monitoring.close)
            serving.add_reader(monitoring.fileno(), monitoring.attend)
        ended, saved = False, 0.0
        lag = paced.Lag(clock, "serve" if as_json else "")
        desk: GroupDesk | None = None
        mount: GroupMount | None = None

        def end(number: int, frame: object) -> None:
            nonlocal ended
            ended = True
            if waiting():  # which may be for long
                raise Terminated(0)

        def over() -> bool:
            nonlocal saved, mount
            lag.tell(serving.behind)
            if recorder is not None and time.monotonic() - saved > _SAVED:
                recorder.save()
                saved = time.monotonic()
            if mount is not None and mount.gone:
                click.echo(f"ringhil: {folder}: was unmounted; the groups are no files any more", err=True)
                mount = None
            return ended or serving.deserted

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        with explained():
            run.start()
        if folder is not None:
            desk, mount = _mounted(stack, run, folder, serving, note)
        if as_json:
            shown = {} if folder is None else {"groups": str(folder.absolute())}
            shown |= {} if socket is None else {"nvml": str(socket)}
            print_json("serve", {"ready": True, "ports": ports, **shown})
        else:
            for name, found in ports.items():
                click.echo(f"card {name}: {', '.join(found)}")
            if folder is not None:
                click.echo(f"groups: {folder.absolute()}")
            if socket is not None:
                click.echo(f"NVML: {socket}")
        with explained(), _line_of_text():
            serving.serve(over)
            if desk is not None:
                desk.close()
            if recorder is not None:
                serving.close()
                recorder.session_ends()
                run.end_at(run.kernel.now)
                recorder.end(run.finish())
        paced.tell(boards)
        if as_json and boards:
            print_json("serve", paced.document(boards))
        if not ended:
            raise click.ClickException("no port is left to serve")


def _mounted(
    stack: ExitStack, run: Run, folder: Path, serving: Serving, note: Note | None
) -> tuple[GroupDesk, GroupMount]:
    """Mounts the groups of the applications as files in `folder`, until the end."""
    desk = GroupDesk(run, note)
    stack.callback(desk.close)
    with _mounting():
        mount = GroupMount(run.server.process_groups, desk, folder)
    stack.callback(mount.close)
    stack.callback(desk.close)  # before the directory goes: nobody may wait in it
    serving.add_reader(desk.fileno(), desk.attend)
    return desk, mount


def _recorder(
    path: Path, run: Run, firmware: FirmwareChoice, nodes: NodeChoice, clock: int | None, samples: int | None
) -> RunRecorder:
    if is_stdout(path):
        raise RecordingError("-: a session goes to a file; standard output says where the ports are")
    return RunRecorder(
        path, run, firmware=firmware.given, nodes=nodes.given, choice=firmware, clock=clock or 0, samples=samples
    )


def _lost(name: str) -> None:
    click.echo(f"ringhil: {name}: the line is gone", err=True)


@contextmanager
def _mounting() -> Iterator[None]:
    try:
        yield
    except GroupMountError as error:
        raise click.ClickException(f"--groups: {error}") from None


@contextmanager
def _line_of_text() -> Iterator[None]:
    try:
        yield
    except ListenError as error:
        raise click.ClickException(str(error)) from error
