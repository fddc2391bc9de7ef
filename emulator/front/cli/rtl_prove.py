"""`ringhil rtl prove`: what holds of a node for every input, not only for those that a rule plays."""

import json
from pathlib import Path

import click

from ringhil.emulator.build.node_rtl import NODE, OURS
from ringhil.emulator.front.cli import terminal
from ringhil.emulator.front.cli.errors import explained


@click.command("prove")
@click.option(
    "--rtl", type=click.Path(path_type=Path), default=OURS, metavar="DIR", help="RTL directory.  [default: ours]"
)
@click.option("--top", default=NODE, show_default=True, metavar="MODULE", help="The node in it.")
@click.option("--only", "names", multiple=True, metavar="NAME", help="Only this proof, or group; may be repeated.")
@click.option(
    "--depth", type=click.IntRange(1, 200), metavar="N", help="Cycles after reset.  [default: each proof's own]"
)
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Proofs at a time.")
@click.option(
    "--timeout", type=click.IntRange(1, 1_000_000), default=1800, show_default=True, help="Seconds for each proof."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("ringhil-prove"),
    show_default=True,
    help="Directory for waves of counterexamples.",
)
@click.option("--list", "only_list", is_flag=True, help="List the proofs with what they assume, and end.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of tables.")
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
    """Prove what can be said of a node by its ports alone: every input, in every cycle up to a depth, or for ever.

    Exit code 0: each claim is proved, or holds to its depth; 1: one is broken; 2: it can't be proved (a tool is
    missing, it doesn't compile, Yosys refuses it), or a claim is not judged (out of time); 129, 130, 143: it was
    interrupted, and nothing is judged.
    """
    from ringhil.emulator.proofs.claims import chosen
    from ringhil.emulator.proofs.node import ProveSettings
    from ringhil.emulator.proofs.node import prove as run_proofs
    from ringhil.emulator.proofs.show import show

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
        click.echo(json.dumps(report.to_json()))
    else:
        show(report, terminal.output())
    unjudged = [v for v in report.verdicts if v.state == "not judged"]
    if report.verdict == "not judged":
        raise click.ClickException(f"{unjudged[0].claim.name}: not judged: {unjudged[0].why}")
    return 0 if report.verdict == "pass" else 1
