"""`ringhil rtl`: a node of one's own, or ours: check it against the contract, play to it, build it."""

import importlib
from contextlib import ExitStack
from pathlib import Path

import click

from ringhil.emulator.front.cli import terminal
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.options import FILE, SEED, json_option, list_option, node_rtl_options
from ringhil.emulator.front.cli.written import Output

_OTHERS = {name: f"ringhil.emulator.front.cli.rtl_{name}" for name in ("bridge", "coverage")}
_simulator = click.option(
    "--simulator",
    type=click.Choice(["verilator", "icarus"]),
    default="verilator",
    show_default=True,
    help="Simulator that runs the node.",
)


class _Group(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *_OTHERS])

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in _OTHERS:
            command = getattr(importlib.import_module(_OTHERS[name]), name)
            assert isinstance(command, click.Command)
            return command
        return super().get_command(ctx, name)


@click.group("rtl", cls=_Group)
def command() -> None:
    """Check, prove, build and play to the RTL of a GPU node; report its coverage."""


@command.command("check")
@node_rtl_options
@_simulator
@click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="RULE",
    help="Check only this rule, or group of rules (link); may be repeated.",
)
@click.option("--seed", type=SEED, default=1, show_default=True, help="Seed of the stimuli.")
@click.option(
    "--effort",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="Play this many times as many cases of each rule.",
)
@click.option(
    "--out",
    type=FILE,
    default=Path("ringhil-check"),
    show_default=True,
    help="Directory for stimuli and waves of broken rules.",
)
@click.option("--waves/--no-waves", default=True, show_default=True, help="Record waves of broken rules.")
@click.option(
    "--coverage",
    type=FILE,
    metavar="DIR",
    help="Write line, toggle and functional coverage to this directory (see `ringhil rtl coverage`).",
)
@click.option(
    "--junit",
    type=FILE,
    metavar="FILE",
    help="Also write the verdicts as JUnit XML to this file.",
)
@list_option
@json_option
def check(
    rtl: Path,
    top: str,
    simulator: str,
    rules: tuple[str, ...],
    seed: int,
    effort: int,
    out: Path,
    waves: bool,
    coverage: Path | None,
    junit: Path | None,
    only_list: bool,
    as_json: bool,
) -> int:
    """Check a node against the contract: ports, lint, and every rule in the simulator.

    Exit code 0: no rule is broken; 1: one is; 2: it can't be checked (it doesn't compile, its ports are wrong, it has
    a combinational loop, a tool is missing, the simulator was killed); 129, 130, 143: it was interrupted, and nothing
    is judged.
    """
    from ringhil.emulator.conformance.check import ALWAYS, CheckSettings, interrupted_check
    from ringhil.emulator.conformance.check import check as run_check
    from ringhil.emulator.conformance.rule import all_rules
    from ringhil.emulator.conformance.show import RuleRows, errors, show
    from ringhil.emulator.conformance.show import junit as as_junit

    results = terminal.beside(as_json, junit=junit)
    # A terminal shows progress, and the table at the end.
    rows = None if as_json or results.is_terminal else RuleRows(results)
    with explained():
        if only_list:
            for name, demands in ALWAYS.items():
                click.echo(f"{name:24} {demands} (watched in every case)")
            for name, rule in all_rules().items():
                click.echo(f"{name:24} {rule.demands}" + (f" ({rule.requirement})" if rule.requirement else ""))
            return 0
        chosen = CheckSettings(
            "icarus" if simulator == "icarus" else "verilator", seed, effort, rules, out, waves, coverage
        )
        with ExitStack() as opened:
            written = None if junit is None else opened.enter_context(Output(junit))
            try:
                with terminal.working("checking") as progress:
                    report = run_check(
                        rtl, top, chosen, progress, lambda verdict: None if rows is None else rows.add(verdict)
                    )
            except (KeyboardInterrupt, SystemExit):  # a report of an earlier check must not speak for this one
                if written is not None:
                    written.write(as_junit(interrupted_check(rtl, top, chosen)))
                raise
            if written is not None:
                written.write(as_junit(report))
    if as_json:
        terminal.print_json("rtl-check", report.to_json())
    else:
        show(report, results, rows)
    if report.broken:
        terminal.annotate(lambda: errors(report), "causes")
    if report.verdict == "not judged":
        why = report.killed or report.lacking or "no case was played: nothing is known of the rules that were asked for"
        terminal.say(f"ringhil: {rtl}: {why}", err=True)
        return 2
    return 0 if report.ok else 1


@command.command("play")
@click.argument("stimulus", type=FILE, metavar="STIMULUS.json")
@node_rtl_options
@_simulator
@click.option("--waves", type=FILE, metavar="FILE.fst", help="Write the waves of all signals to this file.")
@json_option
def play(stimulus: Path, rtl: Path, top: str, simulator: str, waves: Path | None, as_json: bool) -> None:
    """Play a stimulus to a node and print what it does, cycle by cycle; `check` leaves one for each broken rule."""
    from ringhil.emulator.conformance.play import lines, played

    with explained(), terminal.working("playing") as progress:
        observed = played(stimulus, rtl, top, "icarus" if simulator == "icarus" else "verilator", waves, progress)
    if as_json:
        terminal.print_json("rtl-play", observed)
    else:
        for line in lines(observed):
            click.echo(line)


@command.command("build")
@node_rtl_options
@json_option
def build(rtl: Path, top: str, as_json: bool) -> None:
    """Build the engine's library from a node's RTL, so that `ringhil run --rtl` starts at once."""
    from ringhil.emulator.engine.library import cells_library

    with explained(), terminal.building() as progress:
        library = cells_library(rtl, top=top, progress=progress)
    if as_json:
        document = {"rtl": library.rtl, "cached": library.from_cache, "seconds": round(library.build_seconds, 3)}
        terminal.print_json("rtl-build", document)
    else:
        how = "from the cache" if library.from_cache else f"built in {library.build_seconds:.1f} s"
        click.echo(f"{library.rtl} {how}")


@command.command("prove")
@node_rtl_options
@click.option(
    "--only", "names", multiple=True, metavar="NAME", help="Prove only this claim, or group of claims; may be repeated."
)
@click.option(
    "--depth",
    type=click.IntRange(1, 200),
    metavar="N",
    help="Prove this many cycles after reset.  [default: each claim's own depth]",
)
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Number of proofs at a time.")
@click.option(
    "--timeout",
    type=click.IntRange(1, 1_000_000),
    default=1800,
    show_default=True,
    help="Longest time for a proof, in seconds.",
)
@click.option(
    "--out",
    type=FILE,
    default=Path("ringhil-prove"),
    show_default=True,
    help="Directory for waves of counterexamples.",
)
@click.option("--list", "only_list", is_flag=True, help="List the claims with what they assume, and end.")
@json_option
def prove(
    rtl: Path,
    top: str,
    names: tuple[str, ...],
    depth: int | None,
    jobs: int,
    timeout: int,
    out: Path,
    only_list: bool,
    as_json: bool,
) -> int:
    """Prove claims about a node's ports for every input: in every cycle up to a depth, or for ever.

    Exit code 0: each claim is proved, or holds to its depth; 1: one is broken; 2: it can't be proved (a tool is
    missing, it doesn't compile, Yosys refuses it), or a claim is not judged (out of time); 129, 130, 143: it was
    interrupted, and nothing is judged.
    """
    from ringhil.emulator.proofs.claims import chosen
    from ringhil.emulator.proofs.node import ProveSettings
    from ringhil.emulator.proofs.node import prove as run_proofs
    from ringhil.emulator.proofs.report import show

    with explained():
        if only_list:
            for claim in chosen(names):
                assumed = f" (assumes: {'; '.join(claim.assumptions)})" if claim.assumptions else ""
                click.echo(f"{claim.name:16} depth {claim.depth:2}  {claim.demands}{assumed}")
            return 0
        settings = ProveSettings(names, depth, jobs, float(timeout), out)
        with terminal.working("proving") as progress:
            report = run_proofs(rtl, top, settings, progress)
    if as_json:
        terminal.print_json("rtl-prove", report.to_json())
    else:
        show(report, terminal.output())
    unjudged = [v for v in report.verdicts if v.state == "not judged"]
    if report.verdict == "not judged":
        raise click.ClickException(f"{unjudged[0].claim.name}: not judged: {unjudged[0].why}")
    return 0 if report.verdict == "pass" else 1


@command.command("viewers")
@click.option("-o", "--output", type=FILE, required=True, metavar="DIR", help="Directory for the files.")
def viewers(output: Path) -> None:
    """Write a save file and filters for GTKWave, and a command file and mappings for Surfer.

    They show the bench of a node, with the frames on each link in words. Open with `gtkwave dump.fst DIR/ringhil.gtkw`,
    or in DIR with `surfer --command-file ringhil.sucl dump.fst`.
    """
    from ringhil.emulator.trace.waves import viewers as made

    with explained():
        for path in made.write(output):
            click.echo(path)
