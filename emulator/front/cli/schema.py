"""`ringhil schema`: the JSON Schema of scenario files, of cluster files, and of what `--json` prints."""

import json

import click

from ringhil.emulator.front.printed import FORMS, published
from ringhil.emulator.scenario import json_schema


@click.command("schema")
@click.argument("name", type=click.Choice(["scenario", "cluster", *FORMS]), default="scenario", metavar="[NAME]")
def command(name: str) -> None:
    """Print the JSON Schema of server and scenario files, or of cluster files, for editors and checkers; or of what a
    command prints with --json, by its name: run, rtl-check.
    """
    if name in FORMS:
        click.echo(published(name), nl=False)
        return
    schema = json_schema
    if name == "cluster":
        from ringhil.emulator.cluster import cluster_schema as schema  # numpy isn't needed for the others
    click.echo(json.dumps(schema(), indent=2))
