"""`ringhil schema`: the JSON Schema of server and scenario files."""

import json

import click

from ringhil.emulator.scenario import json_schema


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of server and scenario files, for editors and checkers."""
    click.echo(json.dumps(json_schema(), indent=2))
