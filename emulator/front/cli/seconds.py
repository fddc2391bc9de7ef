"""Seconds with limits, as options: `nan` lies between no two numbers, and click takes it."""

import math
from typing import Any

import click

from ringhil.emulator.documents import shown


class Seconds(click.FloatRange):
    """From `low`, 0: anything above that, to `high`, None: any number."""

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
