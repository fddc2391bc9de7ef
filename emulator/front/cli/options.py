"""Options that several commands have, and the kinds of values that options take."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ringhil.emulator.build.node_rtl import NODE, OURS
from ringhil.emulator.documents import shown

F = TypeVar("F", bound=Callable[..., Any])


class GivenPath(click.Path):
    """A pathlib.Path. An empty one, as of a variable that isn't set, is none: it would be the current directory."""

    def __init__(self, *, file_okay: bool = True, exists: bool = False) -> None:
        super().__init__(path_type=Path, file_okay=file_okay, exists=exists)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuses the empty one."""
        if value == "":
            self.fail("found ''; allowed is a path", param, ctx)
        return super().convert(value, param, ctx)


class Seconds(click.FloatRange):
    """From `low`, 0: anything above that, to `high`, None: any number. `nan` lies between no two numbers, and click
    takes it."""

    def __init__(self, low: float, high: float | None = None) -> None:
        super().__init__(low, high, min_open=not low)
        least = f"{low:g} or more" if low else "more than 0"
        self._allowed = f"a number of seconds, {least}" if high is None else f"seconds from {low:g} to {high:g}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See click."""
        try:
            found = super().convert(value, param, ctx)
        except click.BadParameter:
            found = math.nan
        if not math.isfinite(found):
            self.fail(f"found {shown(value)}; allowed is {self._allowed}", param, ctx)
        return found


class WholeNumber(click.IntRange):
    """From `low` to `high`."""

    def __init__(self, low: int, high: int) -> None:
        super().__init__(low, high)
        self._allowed = f"a whole number from {low} to {high}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See click; it says of `1e6` that it is no valid range."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"found {shown(value)}; allowed is {self._allowed}", param, ctx)


FILE = GivenPath()
SEED = click.IntRange(0, 2**32 - 1)

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on standard output.")
seed_option = click.option("--seed", type=SEED, help="Use this seed instead of the file's.")
list_option = click.option("--list", "only_list", is_flag=True, help="List the rules and end.")
firmware_option = click.option(
    "--firmware",
    multiple=True,
    metavar="GPU=FIRMWARE",
    help="Run this as the firmware of a GPU (a.3), or of every GPU that has firmware ('*'): MODULE:CLASS, LIBRARY.so "
    "(in a process of its own; ,here: in this one; ,limit=SECONDS: for an answer; ,gdb=CYCLE: waits there for a "
    "debugger), or the URL of a board. May be repeated.",
)
jobs_option = click.option(
    "--jobs", "-j", type=click.IntRange(1, 256), help="Number of processes.  [default: one for each processor]"
)


def rtl_options(command: F) -> F:
    """`--rtl` and `--top`: the RTL of a node that is run, None: ours."""
    return _rtl_options(None)(command)


def node_rtl_options(command: F) -> F:
    """The same for commands that are about the RTL: ours has its directory, too."""
    return _rtl_options(OURS)(command)


def _rtl_options(ours: Path | None) -> Callable[[F], F]:
    rtl = click.option("--rtl", type=FILE, default=ours, metavar="DIR", help="Use the RTL in this directory, not ours.")
    top = click.option("--top", default=NODE, show_default=True, metavar="MODULE", help="The node's top module.")
    return lambda command: rtl(top(command))


def _shard(context: click.Context, option: click.Parameter, value: str) -> tuple[int, int]:
    """`2/4` as (2, 4)."""
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", value)
    shard, shards = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= shard <= shards:
        raise click.BadParameter(f"found {value!r}; allowed is K/N with K from 1 to N, such as 2/4", context, option)
    return shard, shards


shard_option = click.option(
    "--shard", default="1/1", callback=_shard, metavar="K/N", help="Play the K-th of N parts, to use N machines."
)
