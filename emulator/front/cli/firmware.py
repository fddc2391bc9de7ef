"""`ringhil firmware check`: whether somebody's firmware keeps what is promised of a GPU's."""

from collections.abc import Sequence
from dataclasses import asdict

import click
from rich.markup import escape

from ringhil.emulator.conformance.choosing import choose
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.options import json_option, list_option
from ringhil.emulator.front.cli.terminal import annotate, building, counting, output, print_json, say
from ringhil.emulator.loop.alone.servers import FirmwareRole
from ringhil.emulator.loop.checking import FirmwareFinding, checked, not_judged
from ringhil.emulator.loop.loading import firmware_named
from ringhil.emulator.loop.promises import PROMISES
from ringhil.emulator.pages.github import error
from ringhil.emulator.pages.verdicts import RuleState, verdict_of
from ringhil.emulator.server.firmware_choice import ALL, FirmwareChoice
from ringhil.emulator.server.foreign import FirmwareMissing
from ringhil.emulator.server.hashes import hashes


@click.group("firmware")
def command() -> None:
    """Check the firmware of a GPU against what it must do."""


@command.command("check")
@click.argument("firmware", required=False)
@click.argument("rules", nargs=-1, metavar="[RULE]...")
@click.option(
    "--role",
    "roles",
    multiple=True,
    type=click.Choice([*map(str, FirmwareRole)]),
    help="Judge it in this role only; may be repeated. What is about others is not judged.",
)
@list_option
@json_option
def check(firmware: str | None, rules: tuple[str, ...], roles: tuple[str, ...], only_list: bool, as_json: bool) -> int:
    """Run FIRMWARE (MODULE:CLASS, LIBRARY.so or the URL of a board) in a server, and judge it by every rule, by each
    RULE that is named, or by a group of them (election).

    Exit code 0: no rule is broken; 1: one is; 2: the firmware can't be used, its board is gone before the end, or
    nothing could be judged.
    """
    with explained():
        if only_list and firmware is not None:
            rules = (firmware, *rules)  # nothing is checked: they are all rules
        chosen = choose(rules, [*PROMISES], ())
        if firmware is None and not only_list:
            raise click.UsageError("FIRMWARE is missing: MODULE:CLASS, LIBRARY.so or the URL of a board")
        if only_list:
            for name in chosen:
                click.echo(f"{name:26} {PROMISES[name].says}")
            return 0
        assert firmware is not None
        given = firmware_named(firmware)
        with building():
            library = cells_library()
        found, ended = list[FirmwareFinding](), None
        try:
            in_roles = frozenset(map(FirmwareRole, roles)) or frozenset(FirmwareRole)
            with counting("rules") as on_progress:
                for finding in checked(given, chosen, library, in_roles):
                    found.append(finding)
                    on_progress(len(found), len(chosen))
        except FirmwareMissing as error:
            ended = str(error)
            found += not_judged(chosen[len(found) :], ended)
        finally:
            if given.board is not None:
                given.board.close()
    numbers = {state: sum(each.state is state for each in found) for state in RuleState}
    verdict = verdict_of({each.state for each in found})
    if as_json:
        known = hashes(None, library.rtl, FirmwareChoice((), {ALL: given}))
        document = {"firmware": firmware, "hashes": known, "verdict": verdict, "ended": ended}
        print_json("firmware-check", {**document, "rules": [asdict(each) for each in found]})
    else:
        for finding in sorted(found, key=lambda each: each.state is not RuleState.BROKEN):
            _say(finding)
        click.echo(f"{firmware}: " + ", ".join(f"{number} {state}" for state, number in numbers.items()))
    annotate(lambda: _errors(found), "broken rules")
    if ended is not None:
        click.echo(f"ringhil: {ended}; the check ends here", err=True)
        return 1 if verdict == "fail" else 2
    if verdict == "not judged":
        click.echo(f"ringhil: {firmware}: none of the rules that were asked for could be judged", err=True)
        return 2
    return int(verdict == "fail")


def _errors(found: Sequence[FirmwareFinding]) -> list[str]:
    return [
        error(f"ringhil firmware check: {each.rule}", f"{each.failures[0]}\npromised: {each.demands}")
        for each in found
        if each.state is RuleState.BROKEN
    ]


def _say(finding: FirmwareFinding) -> None:
    told = escape(f"{finding.rule:26}{finding.failures[0] if finding.failures else ''}".rstrip())
    output().print(f"{finding.state.mark} {told}", soft_wrap=True)
    if finding.state is RuleState.BROKEN:
        say(f"{'':31}promised: {finding.demands}")
    if finding.unplayed:
        say(f"{'':31}not judged as {finding.unplayed}")
    rest = len(finding.failures) - 1
    if rest > 0:
        click.echo(f"{'':31}and {rest} more")
