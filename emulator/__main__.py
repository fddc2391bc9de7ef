"""`python -m ringhil.emulator` is the command line too."""

from ringhil.emulator.cli import main

main()
