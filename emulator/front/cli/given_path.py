"""Paths of the command line."""

from pathlib import Path
from typing import Any

import click


class GivenPath(click.Path):
    """A pathlib.Path. An empty one, as of a variable that isn't set, is none: it would be the current directory."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuses the empty one."""
        if value == "":
            self.fail("found ''; allowed is a path", param, ctx)
        return super().convert(value, param, ctx)
