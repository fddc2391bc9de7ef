"""`ringhil lend request`, `release`, `list`, `watch`, `data`: what people ask a server that lends GPUs."""

import re
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from ringhil.emulator.errors import RinghilError, printable
from ringhil.emulator.files import AtomicFile, reason_of
from ringhil.emulator.front.cli import terminal
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.options import FILE, Seconds, json_option
from ringhil.emulator.lending.client import LendClient, LendClientError, UnwrittenDataError
from ringhil.emulator.lending.document import MOST_ID, MOST_SIZE, NODE
from ringhil.emulator.lending.handover import DATA_NAME
from ringhil.emulator.lending.kubevirt import permitted_host_devices
from ringhil.emulator.lending.tokens import node_token
from ringhil.emulator.pages import units
from ringhil.emulator.pages.tables import print_table, table

Asks = Callable[[], LendClient]
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_CONFLICT = 409
MOST_DAYS = 3650


def _asks_server(command: Callable[..., Any]) -> Callable[..., Any]:
    """With options that say which server is asked, and with what: as the argument `ask`."""

    @click.option("--url", envvar="RINGHIL_LEND_URL", metavar="URL", help="Of the server  [env: RINGHIL_LEND_URL]")
    @click.option(
        "--token", envvar="RINGHIL_LEND_TOKEN", metavar="TOKEN", help="What it is asked with  [env: RINGHIL_LEND_TOKEN]"
    )
    @click.option(
        "--ca",
        envvar="RINGHIL_LEND_CA",
        type=FILE,
        metavar="FILE",
        help="Certificate of who has signed the server's  [env: RINGHIL_LEND_CA]",
    )
    @wraps(command)
    def asking(*given: Any, url: str | None, token: str | None, ca: Path | None, **options: Any) -> Any:
        def ask() -> LendClient:
            for name, value in (("url", url), ("token", token)):
                if not value:
                    wanted = "what `ringhil lend serve` prints"
                    raise click.UsageError(f"--{name}: wanted is {wanted}, here or in RINGHIL_LEND_{name.upper()}")
            return LendClient(url or "", token or "", ca)

        return command(*given, ask=ask, **options)

    return asking


class _Size(click.ParamType[int]):
    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """`16GiB` as bytes."""
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"([0-9]{1,16})(?:([KMGT])iB?)?", value)
        size = int(found[1]) * _UNITS[found[2] or ""] if found else -1
        if not 0 <= size <= MOST_SIZE:
            self.fail(f"found {printable(value[:40])!r}; allowed are bytes, or such as 16GiB", param, ctx)
        return size


@click.command("request")
@click.argument("node")
@click.option("--kind", default="training", show_default=True, help="Kind of work.")
@click.option("--size", type=_Size(), default=0, metavar="BYTES", help="GPU memory that it needs, such as 16GiB.")
@click.option("--gpu", metavar="GPU", help="This one (a.3).")
@click.option("--mapping", metavar="NAME", help="One of the GPUs of this name.")
@click.option("--xml", is_flag=True, help="Print what libvirt loads, and nothing else.")
@json_option
@_asks_server
def request(
    node: str,
    kind: str,
    size: int,
    gpu: str | None,
    mapping: str | None,
    xml: bool,
    as_json: bool,
    ask: Asks,
) -> int:
    """Ask for a GPU for the guest NODE (i-0000002d).

    Exit code 0: it is lent; 1: nothing is free now.
    """
    if xml and as_json:
        raise click.UsageError("--xml: prints XML; leave out --json")
    wish = {"node": node, "kind": kind, "size": size, "gpu": gpu, "mapping": mapping}
    with explained():
        try:
            loan = ask().request(wish)
        except LendClientError as error:
            if error.status != _CONFLICT:
                raise
            click.echo(f"ringhil: {error}", err=True)
            return 1
    _tell("lend-request", loan, as_json, loan["hostdev"] if xml else None)
    return 0


@click.command("release")
@click.argument("loan", type=click.IntRange(1, MOST_ID))
@json_option
@_asks_server
def release(loan: int, as_json: bool, ask: Asks) -> None:
    """Give back the GPU of a LOAN, by its number."""
    with explained():
        found = ask().release(loan)
    _tell("lend-release", found, as_json)


@click.command("list")
@click.option("--gpus", is_flag=True, help="List GPUs, not loans.")
@json_option
@_asks_server
def list_(gpus: bool, as_json: bool, ask: Asks) -> None:
    """List loans, the newest first, or GPUs."""
    with explained():
        client = ask()
        found: Any = client.gpus() if gpus else {"loans": client.loans()}
    if as_json:
        terminal.print_json("lend-list", found)
        return
    if gpus:
        shown = table("GPU", "state", "loan", "guest", "type", "memory", "group", "mappings", "holders", left=_LEFT)
        for each in found["gpus"]:
            names = ("gpu", "state", "loan", "node", "model", "memory", "group", "mappings", "holders")
            shown.add_row(*(_cell(name, each[name]) for name in names))
    else:
        shown = table("loan", "guest", "GPU", "state", "kind", "busy", "energy", "why", left=_LEFT)
        for each in found["loans"]:
            busy, energy = units.seconds(each["busy_s"]), units.joules(each["energy_j"])
            why = each["error"] or each["reason"] or ""
            cells = (each["id"], each["node"], ",".join(each["gpus"]), _state(each), each["kind"], busy, energy, why)
            shown.add_row(*(printable(str(cell)) for cell in cells))
    print_table(terminal.output(), shown)


_LEFT = ("guest", "GPU", "state", "kind", "why", "type", "mappings", "holders")


@click.command("watch")
@click.option("--every", type=Seconds(0.1), default=1.0, show_default=True, help="Seconds between two looks.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document for each change.")
@_asks_server
def watch(every: float, as_json: bool, ask: Asks) -> None:
    """Print a line whenever a loan changes, until it is interrupted."""
    seen: dict[int, tuple[str, str]] = {}
    with explained():
        client = ask()
        while True:
            for loan in reversed(client.loans()):
                now = (_state(loan), loan["error"] or "")
                if seen.get(loan["id"]) != now:
                    seen[loan["id"]] = now
                    _tell("lend-watch", loan, as_json)
            time.sleep(every)


@click.command("data")
@click.argument("name", required=False)
@click.option("-o", "--out", type=FILE, metavar="FILE", help="Write it to this file; NAME unless told.")
@click.option("--packed", is_flag=True, help="Have it packed on its way.")
@json_option
@_asks_server
def data(name: str | None, out: Path | None, packed: bool, as_json: bool, ask: Asks) -> None:
    """Get the file NAME that the server hands over to guests that have a GPU; without NAME, list them.

    What came is as the server has it, or there is no file.
    """
    if name is None and (out is not None or packed):
        raise click.UsageError("NAME: wanted is which file, with --out and --packed")
    with explained():
        if name is None:
            found = ask().data()
            if as_json:
                terminal.print_json("lend-data", {"data": found})
                return
            shown = table("file", "bytes", left=("file",))
            for each in found:
                shown.add_row(printable(str(each["name"])), f"{each['size']:,}")
            print_table(terminal.output(), shown)
            return
        if not re.fullmatch(DATA_NAME, name):
            raise click.UsageError(
                f"NAME: found {printable(name[:80])!r}; allowed are letters, digits, '.', '_' and '-'"
            )
        client, file = ask(), Path(name) if out is None else out
        try:
            with AtomicFile(file, binary=True) as draft:
                with draft.partial.open("xb") as opened:
                    size = client.fetch(name, opened, packed=packed)
                draft.commit()
        except LendClientError:
            raise
        except UnwrittenDataError as error:
            raise RinghilError(f"{file}: cannot be written: {error}") from None
        except OSError as error:
            raise RinghilError(f"{file}: cannot be written: {reason_of(error)}") from None
    if as_json:
        terminal.print_json("lend-data", {"name": name, "file": str(file), "size": size})
    else:
        click.echo(f"{file}: {size:,} bytes")


@click.command("certificate")
@click.argument("folder", type=FILE)
@click.option(
    "--name", "names", multiple=True, metavar="HOST", help="A name or address by which guests reach the server."
)
@click.option("--days", type=click.IntRange(1, MOST_DAYS), default=365, show_default=True, help="How long it is good.")
def certificate(folder: Path, names: tuple[str, ...], days: int) -> None:
    """Make a certificate for `lend serve --tls FOLDER`: ca-cert.pem for guests, server-cert.pem and server-key.pem."""
    with explained():
        from ringhil.emulator.lending.certificate import AUTHORITY, HERE, make_certificate

        make_certificate(folder, (*HERE, *names), days)
    click.echo(f"{folder / AUTHORITY}: for guests; good for {', '.join((*HERE, *names))}, for {days} days")


@click.command("kubevirt")
@_asks_server
def kubevirt(ask: Asks) -> None:
    """Print what KubeVirt reads of the server's GPUs: permittedHostDevices, a resource for each name or type."""
    with explained():
        gpus = ask().gpus()["gpus"]
        names = dict.fromkeys(name for each in gpus for name in each["mappings"])
        mappings = {name: [each["gpu"] for each in gpus if name in each["mappings"]] for name in names}
        click.echo(permitted_host_devices({each["gpu"]: each["pci_id"] for each in gpus}, mappings))


@click.command("token")
@click.argument("node")
@click.option("--token", envvar="RINGHIL_LEND_TOKEN", metavar="TOKEN", help="The operator's  [env: RINGHIL_LEND_TOKEN]")
def token(node: str, token: str | None) -> None:
    """Print the token of the guest NODE: with it the guest asks for itself, and for nobody else."""
    if not token:
        raise click.UsageError("--token: wanted is the operator's, or RINGHIL_LEND_TOKEN")
    if "." in token:
        raise click.UsageError("--token: found that of a guest; wanted is the operator's")
    if not re.fullmatch(NODE, node):
        raise click.UsageError(f"NODE: found {printable(node[:40])!r}; allowed is a node address such as i-0000002d")
    click.echo(node_token(token, node))


def _tell(schema: str, loan: dict[str, Any], as_json: bool, xml: str | None = None) -> None:
    if as_json:
        terminal.print_json(schema, loan)
    else:
        click.echo(_line(loan) if xml is None else xml)


def _state(loan: dict[str, Any]) -> str:
    return f"{loan['state']}, on its way back" if loan["released"] and loan["state"] != "free" else str(loan["state"])


def _line(loan: dict[str, Any]) -> str:
    text = f"loan {loan['id']}: {','.join(loan['gpus'])} for {loan['node'] or 'nobody'}: {_state(loan)}"
    text += f" ({loan['reason']})" if loan["reason"] not in (None, "released") else ""
    return printable(text + (f": {loan['error']}" if loan["error"] else ""))


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name == "memory":
        return units.memory(value)
    return printable(",".join(value) if isinstance(value, list) else str(value))
