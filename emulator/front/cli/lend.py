"""`ringhil lend`: lending a whole GPU to a virtual machine."""

import os
from pathlib import Path

import click

from ringhil.emulator.front.cli import terminal
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.lend_client import (
    certificate,
    data,
    kubevirt,
    list_,
    release,
    request,
    token,
    watch,
)
from ringhil.emulator.front.cli.lend_serve import serve
from ringhil.emulator.front.cli.lend_usage import train, usage
from ringhil.emulator.front.cli.options import GivenPath, json_option
from ringhil.emulator.lending.pci import PciAddress, PciError, PciGpu
from ringhil.emulator.lending.preflight import PreflightCheck
from ringhil.emulator.lending.preflight import preflight as look
from ringhil.emulator.pages.tables import print_table, table
from ringhil.emulator.pages.verdicts import marked


@click.group("lend", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Lend a whole GPU to a virtual machine."""


for _each in (serve, request, release, list_, watch, data, token, certificate, kubevirt, train, usage):
    command.add_command(_each)


@command.command("preflight")
@click.argument("addresses", nargs=-1, metavar="[ADDRESS]...")
@json_option
@click.option("--xml", is_flag=True, help="Print the XML that libvirt loads for these GPUs, and nothing else.")
@click.option(
    "--sysroot",
    type=GivenPath(file_okay=False, exists=True),
    default=Path("/"),
    metavar="DIR",
    help="Look at the copy of another machine's /sys, /proc, /dev and /run in this folder.",
)
def preflight(addresses: tuple[str, ...], as_json: bool, xml: bool, sysroot: Path) -> int:
    """Say whether this machine can lend GPUs, what is missing and how to get it.

    ADDRESS: a GPU's address on the PCI bus (0000:02:00.0); without one, all GPUs. Exit code 0: all is there; 1:
    something is missing that is needed.
    """
    with explained():
        wanted = [PciAddress.of(text) for text in addresses]
        checks, found = look(sysroot, os.environ.get("PATH", ""))
        chosen = _chosen(wanted, found)
    names = {str(gpu.address) for gpu in chosen}
    checks = [each for each in checks if not each.gpu or each.gpu in names]
    if xml:
        for gpu in chosen:
            click.echo(gpu.hostdevs)
    elif as_json:
        terminal.print_json("lend-preflight", _document(checks, chosen))
    else:
        _show(checks)
    return int(not all(each.ok for each in checks))


def _chosen(wanted: list[PciAddress], found: list[PciGpu]) -> list[PciGpu]:
    """Raises PciError for one that isn't there."""
    by_device = {gpu.address.device: gpu for gpu in found}
    for address in wanted:
        if address.device not in by_device:
            there = ", ".join(str(gpu.address) for gpu in found) or "none"
            raise PciError(f"{address}: there is no GPU; there are: {there}")
    return [by_device[address.device] for address in dict.fromkeys(wanted)] if wanted else found


def _document(checks: list[PreflightCheck], chosen: list[PciGpu]) -> dict[str, object]:
    return {
        "ok": all(each.ok for each in checks),
        "checks": [each.to_json() for each in checks],
        "gpus": [
            {
                "address": str(gpu.address),
                "functions": [str(each.address) for each in gpu.functions],
                "groups": list(gpu.groups),
                "beside": [str(each.address) for each in gpu.beside],
                "hostdev": gpu.hostdevs,
            }
            for gpu in chosen
        ],
    }


def _show(checks: list[PreflightCheck]) -> None:
    rows = table("check", "GPU", "", "found", "to get it", left=("check", "GPU", ""), folded=("found", "to get it"))
    for each in checks:
        mark = marked("ok" if not each.missing else "slow" if each.slow else "missing")
        rows.add_row(each.name, each.gpu, mark, each.found, each.missing)
    print_table(terminal.output(), rows)
