"""`ringhil doctor`: what this machine has of all that ringhil may need, and how to get what it lacks."""

import click
from rich.markup import escape

from ringhil.emulator.front.cli.terminal import output, print_json, say
from ringhil.emulator.front.doctor import examined, works
from ringhil.emulator.pages.verdicts import marked, ok


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as one JSON document.")
def command(as_json: bool) -> int:
    """Try what ringhil needs here, and say what is missing for which feature, and how to get it.

    Nothing is installed or changed. Packages are those of Debian and Python. Exit code 0: the core works, which runs,
    explores and judges; 1: it doesn't. What only other features lack makes no difference.
    """
    found = []
    for feature in examined():
        found.append(feature)
        if as_json:
            continue
        mark = marked("no", "no  ") if feature.missing else ok(True)
        output().print(f"{mark} {escape(feature.name)}: {escape(feature.what)}", soft_wrap=True)
        for need in feature.needs:
            say(f"       {'-' if need.get else '+'} {need.name}: {need.found}")
            if need.get:
                say(f"         get it: {need.get}")
    if as_json:
        document = {"works": works(found), "features": [feature.to_json() for feature in found]}
        print_json("doctor", document, indent=2)
    return 0 if works(found) else 1
