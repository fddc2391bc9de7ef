"""What the engine reports when a model can't be built.

`str(error)` is one line for the user: where, what was found, what would help. `error.log` is all that
the failing tool printed (bounded), or empty.
"""

from ringhil.emulator.errors import RinghilError


class BuildError(RinghilError, RuntimeError):
    """A model can't be built; nothing was left in the cache."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(" ".join(message.split()))
        self.log = log
