"""The command line: `ringhil`."""

import os
import signal

try:
    from ringhil.emulator.front.cli.main import main
except KeyboardInterrupt:  # the first moments are spent here
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.write(2, b"\nringhil: interrupted\n")
    raise SystemExit(130) from None

__all__ = ["main"]
