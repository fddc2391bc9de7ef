"""Whole numbers with limits, as options: what is none is told with what was found and what is allowed."""

from typing import Any

import click

from ringhil.emulator.documents import shown


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
