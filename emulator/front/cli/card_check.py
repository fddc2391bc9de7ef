"""`ringhil card URL check`: whether a card keeps what the management protocol promises."""

from contextlib import closing
from pathlib import Path

import click
from rich.markup import escape
from serial import SerialBase

from ringhil.emulator.conformance.choosing import choose
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.terminal import counting, output, print_json, say
from ringhil.emulator.pages.verdicts import RuleState
from ringhil.emulator.serial.checks.bench import LineBench, SilentCard
from ringhil.emulator.serial.checks.promise import all_promises
from ringhil.emulator.serial.checks.suite import CardReport, PromiseFinding, run
from ringhil.emulator.serial.client import CardError, opened_port
from ringhil.emulator.serial.session.format import SessionError
from ringhil.emulator.serial.session.recording import RecordedLine


@click.command("check")
@click.argument("rules", nargs=-1, metavar="[RULE]...")
@click.option("--faults", is_flag=True, help="Inject faults as well, if the card can: GPUs go down for a moment.")
@click.option("--list", "only_list", is_flag=True, help="List the rules and end.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
@click.pass_context
def check(context: click.Context, rules: tuple[str, ...], faults: bool, only_list: bool, as_json: bool) -> int:
    """Check whether the card keeps to the management protocol.

    RULE names a rule or a theme of rules (framing); without one, every rule is checked. Registers that are written get
    their old values back, and no fault is injected unless --faults is given. Exit code 0: no rule is broken; 1: a rule
    is broken; 2: the card can't be reached, goes silent, or nothing could be judged.
    """
    promises = all_promises()
    with explained():
        chosen = choose(rules, [*promises], ())
    if only_list:
        for name in chosen:
            click.echo(f"{name:22} {promises[name].says}")
        return 0
    url, options = context.obj
    try:
        with closing(_line(url, **options)) as line:
            bench = LineBench(line, timeout=options["timeout"], baud=options["baud"], faults=faults)
            findings, ended = list[PromiseFinding](), None
            try:
                with counting("rules") as on_progress:
                    for finding in run(bench, chosen):
                        findings.append(finding)
                        on_progress(len(findings), len(chosen))
            except SilentCard as error:
                ended = str(error)
    except (CardError, SessionError) as error:
        raise click.ClickException(str(error)) from error
    report = CardReport(bench.info, tuple(findings), ended)
    if as_json:
        print_json("card-check", report.to_json())
    else:
        for finding in sorted(findings, key=lambda each: each.state is not RuleState.BROKEN):
            told = escape(f"{finding.rule:22}{finding.text}".rstrip())
            output().print(f"{finding.state.mark} {told}", soft_wrap=True)
        click.echo(_sum(report))
    if ended:
        say(f"ringhil: {url}: {ended}", err=True)
        return 2
    if report.verdict == "not judged":
        click.echo(f"ringhil: {url}: none of the rules that were asked for could be judged", err=True)
        return 2
    return int(report.verdict == "fail")


def _line(url: str, *, baud: int, timeout: float, record: Path | None) -> SerialBase:
    line = opened_port(url, baud=baud, timeout=timeout)
    return line if record is None else RecordedLine.at(line, record, url)


def _sum(report: CardReport) -> str:
    return f"card {report.card.name}: " + ", ".join(f"{report.number(state)} {state}" for state in RuleState)
