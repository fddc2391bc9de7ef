"""`ringhil schema`: the JSON Schema of server and scenario files, or of cluster files."""

import json

import click

from ringhil.emulator.scenario import json_schema


@click.command("schema")
@click.argument("kind", type=click.Choice(["scenario", "cluster"]), default="scenario")
def command(kind: str) -> None:
    """Print the JSON Schema of server and scenario files, or of cluster files, for editors and checkers."""
    schema = json_schema
    if kind == "cluster":
        from ringhil.emulator.cluster import cluster_schema as schema  # numpy isn't needed for the others
    click.echo(json.dumps(schema(), indent=2))
