"""`ringhil lend serve`: an emulated server whose GPUs are lent by a request API."""

import os
import re
import signal
from contextlib import ExitStack
from pathlib import Path

import click

from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.errors import RinghilError, printable
from ringhil.emulator.front.cli import paced
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.options import FILE, Seconds
from ringhil.emulator.front.cli.terminal import building, print_json
from ringhil.emulator.judge.run import Run
from ringhil.emulator.lending.attachment import Attachment, LendableGpu
from ringhil.emulator.lending.choice import CHOICES, LEARNED_CHOICE
from ringhil.emulator.lending.document import NAME
from ringhil.emulator.lending.handover import HandoverFolder
from ringhil.emulator.lending.lent_card import HOST_SETTINGS
from ringhil.emulator.lending.libvirt import LOCAL, LibvirtAttachment
from ringhil.emulator.lending.loans import IdleTimes
from ringhil.emulator.lending.pci import PciAddress, PciError
from ringhil.emulator.lending.qemu import QemuAttachment, qemu_gpus
from ringhil.emulator.lending.sim import SimAttachment
from ringhil.emulator.lending.sim_gpus import cycle_of, sim_gpus
from ringhil.emulator.lending.tokens import LEAST, MOST, new_token
from ringhil.emulator.scenario import GpuRef, load

_WATT = 0.1  # of a unit of power in a file


@click.command("serve")
@click.argument("file", type=FILE, metavar="SERVER.yaml")
@click.option(
    "--attachment",
    type=click.Choice(["libvirt", "qemu", "sim"]),
    required=True,
    help="How GPUs get to guests: libvirt, GPUs of this machine through VFIO; qemu, emulated cards for guests of QEMU; "
    "sim, a model of guests and bus.",
)
@click.option(
    "--gpu", "places", multiple=True, metavar="GPU=ADDRESS", help="With libvirt: where a GPU is on the PCI bus."
)
@click.option("--connect", metavar="URI", help=f"With libvirt: which one, {LOCAL} unless told.")
@click.option(
    "--guests", type=FILE, metavar="DIR", help="With qemu: a folder with the QMP socket of each guest, NODE.qmp."
)
@click.option(
    "--listen", "where", default="127.0.0.1:0", metavar="HOST:PORT", help="Where guests ask; port 0: a free one."
)
@click.option(
    "--tls",
    "tls",
    type=FILE,
    metavar="DIR",
    help="Be asked by HTTPS, with server-cert.pem and server-key.pem of this folder (ringhil lend certificate).",
)
@click.option("--data", type=FILE, metavar="DIR", help="Hand the files of this folder over to guests that have a GPU.")
@click.option(
    "--database", default="sqlite:///lending.db", show_default=True, metavar="URL", help="Where loans are written down."
)
@click.option(
    "--period", type=Seconds(0), default=3600.0, show_default=True, help="Seconds between two looks for idle GPUs."
)
@click.option("--grace", type=Seconds(0), default=1200.0, show_default=True, help="Seconds until the second look.")
@paced.option
@click.option("--map", "maps", multiple=True, metavar="NAME=GPU,...", help="Name GPUs that serve one purpose.")
@click.option("--group", "groups", multiple=True, metavar="GPU,...", help="These share an IOMMU group; with sim.")
@click.option(
    "--work",
    type=Seconds(0),
    default=60.0,
    show_default=True,
    help="Seconds that a guest computes when it has its GPU; with sim.",
)
@click.option(
    "--choice",
    type=click.Choice([*CHOICES, LEARNED_CHOICE]),
    default=CHOICES[0],
    show_default=True,
    help="Which of several GPUs gets a loan; learned: by the model that ringhil lend train has kept.",
)
@click.option(
    "--sample", type=Seconds(0), default=1.0, show_default=True, help="Seconds between two samples of all meters."
)
@click.option("--keep", type=Seconds(0), default=604800.0, show_default=True, help="Seconds that samples are kept for.")
@click.option("--token-file", type=FILE, help="Read the operator's token from this file, or write a new one to it.")
@click.option("--json", "as_json", is_flag=True, help="Print where it listens as one JSON document.")
def serve(
    file: Path,
    attachment: str,
    places: tuple[str, ...],
    connect: str | None,
    guests: Path | None,
    where: str,
    tls: Path | None,
    data: Path | None,
    database: str,
    period: float,
    grace: float,
    clock: int | None,
    maps: tuple[str, ...],
    groups: tuple[str, ...],
    work: float,
    choice: str,
    sample: float,
    keep: float,
    token_file: Path | None,
    as_json: bool,
) -> None:
    """Emulate a server, and lend its GPUs to guests that ask for them, until SIGINT or SIGTERM.

    Times are seconds of the run's own clock: by --clock, or what a cycle stands for in the file.
    """
    ended = False

    def end(number: int, frame: object) -> None:
        nonlocal ended
        ended = True

    with ExitStack() as stack, explained():
        from ringhil.emulator.lending.database import open_database
        from ringhil.emulator.lending.journal import LoanJournal
        from ringhil.emulator.lending.keeping import UsageKeeper
        from ringhil.emulator.lending.learning import kept_choice
        from ringhil.emulator.lending.serving import LendServing
        from ringhil.emulator.lending.usage import UsageLog
        from ringhil.emulator.web_server import TlsFiles

        scenario = load(file)
        cycle = cycle_of(scenario) if clock is None else 1 / clock
        gpus = sim_gpus(scenario, [tuple(text.split(",")) for text in groups])
        machine = None
        if attachment == "libvirt":
            machine = _libvirt(places, connect or LOCAL, gpus)
            gpus = list(machine.gpus())
        elif places or connect is not None:
            raise RinghilError(
                f"{'--gpu' if places else '--connect'}: wanted with --attachment libvirt, and only with that"
            )
        mappings = _mappings(maps, gpus)
        if (attachment == "qemu") != (guests is not None):
            raise RinghilError("--guests: wanted with --attachment qemu, and only with that")
        if guests is not None and not guests.is_dir():
            raise RinghilError(f"--guests: {guests}: found no such folder")
        handed = None if data is None else HandoverFolder(data)
        files = None if tls is None else TlsFiles(tls / "server-cert.pem", tls / "server-key.pem")
        token = new_token() if token_file is None else _token(token_file)
        found = stack.enter_context(open_database(database))
        chooses = kept_choice(found, choice)
        journal = LoanJournal(found)
        log = stack.enter_context(UsageLog(found, keep=keep, must_write=journal.must_write))
        with building():
            library = cells_library()
        run = Run(scenario, library)
        stack.callback(run.close)
        stack.callback(run.server.close_work)
        watts = {kind: _WATT * power.run_power for kind, power in scenario.server.power}
        bus: Attachment
        if machine is not None:
            bus = machine
        elif guests is not None:
            bus = _qemu(qemu_gpus(gpus), guests, run, library, _WATT * cycle)
        else:
            bus = SimAttachment(gpus, lambda: run.kernel.now, work=round(work / cycle), watts=watts, cycle=cycle)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        run.start()
        keeper = UsageKeeper(log, run.server, bus, chooses, period=sample, cycle=cycle)
        stack.callback(keeper.close)
        log.start()
        serving = stack.enter_context(
            LendServing(
                run,
                journal,
                bus,
                IdleTimes(max(1, round(period / cycle)), max(1, round(grace / cycle))),
                where=where,
                token=token,
                cycle=cycle,
                clock=clock,
                mappings=mappings,
                usage=keeper,
                tls=files,
                data=handed,
            )
        )
        if not serving.web.loopback and tls is None:
            click.echo("ringhil: --listen: others on the network can read what is asked, and tokens with it", err=True)
        if as_json:
            print_json("lend-serve", {"ready": True, "url": serving.web.url, "token": token})
        else:
            click.echo(f"export RINGHIL_LEND_URL={serving.web.url}")
            click.echo(f"export RINGHIL_LEND_TOKEN={token}")
        lag = paced.Lag(clock, "lend-serve" if as_json else "")

        def over() -> bool:
            lag.tell(serving.behind)
            return ended

        serving.serve(over)


def _libvirt(texts: tuple[str, ...], uri: str, gpus: list[LendableGpu]) -> LibvirtAttachment:
    """Raises RinghilError."""
    models, places = {gpu.name: gpu.model for gpu in gpus}, dict[str, PciAddress]()
    for text in texts:
        name, _, address = text.partition("=")
        if name not in models or name in places:
            raise RinghilError(
                f"--gpu: found {printable(text[:80])!r}; allowed is GPU=ADDRESS, once for each of {', '.join(models)}"
            )
        try:
            places[name] = PciAddress.of(address)
        except PciError as error:
            raise RinghilError(f"--gpu: {name}: {error}") from None
        if [each.device for each in places.values()].count(places[name].device) > 1:
            raise RinghilError(f"--gpu: {name}: {address} is that of another GPU, too")
    if not places:
        raise RinghilError("--gpu: wanted with --attachment libvirt, GPU=ADDRESS for each GPU that may be lent")
    return LibvirtAttachment(places, uri, models=models)


def _qemu(gpus: list[LendableGpu], guests: Path, run: Run, library: Library, joule: float) -> QemuAttachment:
    """The cards of guests are set as those of the server are. `joule`: of a unit of energy."""

    def settings(gpu: str) -> dict[str, int]:
        cell = run.server.wiring.cell_of(GpuRef.parse(gpu))
        return {name: run.engine.peek(cell, name) for name in HOST_SETTINGS}

    return QemuAttachment(
        gpus,
        guests,
        library,
        settings=settings,
        joules=lambda meters: meters.energy * joule,
        tell=lambda line: click.echo(f"ringhil: {line}", err=True),
    )


def _mappings(texts: tuple[str, ...], gpus: list[LendableGpu]) -> dict[str, frozenset[str]]:
    """Raises RinghilError."""
    there = {gpu.name for gpu in gpus}
    found: dict[str, frozenset[str]] = {}
    for text in texts:
        name, _, given = text.partition("=")
        names = frozenset(given.split(","))
        if not re.fullmatch(NAME, name) or not given or name in found:
            raise RinghilError(f"--map: found {printable(text[:80])!r}; allowed is NAME=GPU,... and each NAME once")
        if not names <= there:
            wrong = min(names - there)
            raise RinghilError(f"--map: {name}: found {printable(wrong[:40])!r}; there are {', '.join(sorted(there))}")
        found[name] = names
    return found


def _token(file: Path) -> str:
    """Raises RinghilError."""
    try:
        try:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            with file.open("rb") as opened:
                text = opened.read(MOST + 2).decode("ascii", "replace").strip()
        else:
            text = new_token()
            with os.fdopen(descriptor, "w") as opened_new:
                opened_new.write(text + "\n")
    except OSError as error:
        raise RinghilError(f"--token-file: {file}: {error.strerror or error}") from None
    if not re.fullmatch(rf"[A-Za-z0-9_-]{{{LEAST},{MOST}}}", text):
        raise RinghilError(
            f"--token-file: {file}: allowed are {LEAST} to {MOST} letters, digits, '_' and '-' on one line"
        )
    return text
