"""The command line: `ringhil`."""

from ringhil.emulator.front.cli.main import main

__all__ = ["main"]
