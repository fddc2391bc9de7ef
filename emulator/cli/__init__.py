"""The command line: `ringhil`."""

from ringhil.emulator.cli.main import main

__all__ = ["main"]
