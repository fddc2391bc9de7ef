"""`python -m ringhil.emulator` is the command line too."""

from ringhil.emulator.front.cli import main

main()
