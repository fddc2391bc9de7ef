"""`ringhil serve`: the management ports of emulated cards, for programs outside."""

import json
import signal
from contextlib import ExitStack
from pathlib import Path

import click

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.terminal import building
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import load
from ringhil.emulator.serial.lines import ListenError, Pty
from ringhil.emulator.serial.serving import Serving, opened


@click.command("serve")
@click.argument("file", type=click.Path(path_type=Path), metavar="SERVER.yaml")
@click.option("--listen", "where", multiple=True, metavar="WHERE", help="pty (default) or tcp://HOST:PORT.")
@click.option("--card", "names", multiple=True, metavar="NAME", help="Only this card; may be repeated.")
@click.option("--clock", type=click.IntRange(1, 10_000_000_000), metavar="HZ", help="Pace the ring to real time.")
@click.option("--json", "as_json", is_flag=True, help="Say where the ports are as one JSON document.")
def command(file: Path, where: tuple[str, ...], names: tuple[str, ...], clock: int | None, as_json: bool) -> None:
    """Emulate a server, with a management port for each card, until SIGINT or SIGTERM."""
    with ExitStack() as stack:
        with explained():
            scenario = load(file)
            with building():
                library = cells_library()
            run = Run(scenario, library)
        stack.callback(run.close)
        stack.callback(run.server.close_work)
        cards = [card.name for card in scenario.server.cards]
        unknown = [name for name in names if name not in cards]
        if unknown:
            raise click.UsageError(f"--card: found {unknown[0]!r}; there are {', '.join(cards)}")
        serving = Serving(run, clock=clock)
        stack.callback(serving.close)
        ports: dict[str, list[str]] = {}
        for number, name in enumerate(cards):
            if names and name not in names:
                continue
            for each in where or ("pty",):
                try:
                    line = opened(each)
                except ListenError as error:
                    raise click.ClickException(str(error)) from error
                ports.setdefault(name, []).append(line.name)
                serving.add(number, line) if isinstance(line, Pty) else serving.listen(number, line)
        ended = False

        def end(number: int, frame: object) -> None:
            nonlocal ended
            ended = True

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        run.start()
        if as_json:
            click.echo(json.dumps({"ready": True, "ports": ports}))
        else:
            for name, found in ports.items():
                click.echo(f"card {name}: {', '.join(found)}")
        with explained():
            serving.serve(lambda: ended)
