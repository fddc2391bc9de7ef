"""`ringhil rtl`: a node of one's own, or ours: check it against the contract, play to it, build it."""

import importlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from ringhil.emulator.build.node_rtl import NODE, OURS
from ringhil.emulator.files import AtomicFile, reason_of, shown
from ringhil.emulator.front.cli import terminal
from ringhil.emulator.front.cli.errors import explained

_OTHERS = {name: f"ringhil.emulator.front.cli.rtl_{name}" for name in ("bridge", "coverage", "prove", "viewers")}
_directory = click.option(
    "--rtl", type=click.Path(path_type=Path), default=OURS, metavar="DIR", help="RTL directory.  [default: ours]"
)
_top = click.option("--top", default=NODE, show_default=True, metavar="MODULE", help="The node in it.")
_simulator = click.option(
    "--simulator", type=click.Choice(["verilator", "icarus"]), default="verilator", show_default=True
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
    """Check a GPU node's RTL against the contract, prove claims of it, play to it; its coverage and waves."""


@command.command("check")
@_directory
@_top
@_simulator
@click.option(
    "--rule", "rules", multiple=True, metavar="RULE", help="Only this rule, or group of rules (link); may be repeated."
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=1, show_default=True)
@click.option("--effort", type=click.IntRange(1, 1000), default=1, show_default=True, help="More cases of each rule.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("ringhil-check"),
    show_default=True,
    help="Directory for stimuli and waves of broken rules.",
)
@click.option("--waves/--no-waves", default=True, show_default=True, help="Record waves of broken rules.")
@click.option(
    "--coverage",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write line, toggle and functional coverage there (see `ringhil rtl coverage`).",
)
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="Also write JUnit XML.")
@click.option("--list", "only_list", is_flag=True, help="List the rules and end.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of tables.")
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
    a combinational loop, a tool is missing); 129, 130, 143: it was interrupted, and nothing is judged.
    """
    from ringhil.emulator.conformance.check import ALWAYS, CheckSettings, interrupted_check
    from ringhil.emulator.conformance.check import check as run_check
    from ringhil.emulator.conformance.rule import all_rules
    from ringhil.emulator.conformance.show import junit as as_junit
    from ringhil.emulator.conformance.show import show

    results = terminal.beside(as_json, junit=junit)
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
        with _report(junit) as write:
            try:
                with terminal.working("checking") as progress:
                    report = run_check(rtl, top, chosen, progress)
            except (KeyboardInterrupt, SystemExit):  # a report of an earlier check must not speak for this one
                write(as_junit(interrupted_check(rtl, top, chosen)))
                raise
            write(as_junit(report))
    if as_json:
        click.echo(json.dumps(report.to_json()))
    else:
        show(report, results)
    if report.verdict == "not judged":
        click.echo(f"ringhil: {rtl}: no case was played: nothing is known of the rules that were asked for", err=True)
        return 2
    return 0 if report.ok else 1


@command.command("play")
@click.argument("stimulus", type=click.Path(path_type=Path), metavar="STIMULUS.json")
@_directory
@_top
@_simulator
@click.option("--waves", type=click.Path(path_type=Path), metavar="FILE.fst", help="Write all signals there.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of lines.")
def play(stimulus: Path, rtl: Path, top: str, simulator: str, waves: Path | None, as_json: bool) -> None:
    """Play a stimulus (as `check` leaves one for a broken rule) to a node, and print what it does, by cycle."""
    from ringhil.emulator.conformance.play import lines, played

    with explained(), terminal.working("playing") as progress:
        observed = played(stimulus, rtl, top, "icarus" if simulator == "icarus" else "verilator", waves, progress)
    if as_json:
        click.echo(json.dumps(observed))
    else:
        for line in lines(observed):
            click.echo(line)


@command.command("build")
@_directory
@_top
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def build(rtl: Path, top: str, as_json: bool) -> None:
    """Build the engine's library from a node's RTL, so that `ringhil run --rtl` starts at once."""
    from ringhil.emulator.engine.library import cells_library

    with explained(), terminal.building() as progress:
        library = cells_library(rtl, top=top, progress=progress)
    if as_json:
        document = {"rtl": library.rtl, "cached": library.from_cache, "seconds": round(library.build_seconds, 3)}
        click.echo(json.dumps(document))
    else:
        how = "from the cache" if library.from_cache else f"built in {library.build_seconds:.1f} s"
        click.echo(f"{library.rtl} {how}")


@contextmanager
def _report(path: Path | None) -> Iterator[Callable[[str], None]]:
    """What writes a report whole, if one is wanted; refused before anything is played if it can't."""
    if path is None:
        yield lambda text: None
        return
    with _cannot_be_written(path):
        file = AtomicFile(path)

    def write(text: str) -> None:
        assert file.file is not None
        with _cannot_be_written(path):
            file.file.write(text)
            file.commit()

    with file:
        yield write


@contextmanager
def _cannot_be_written(path: Path) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise click.ClickException(f"{shown(path)}: cannot be written: {reason_of(error)}") from error
