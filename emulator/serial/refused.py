"""A request that is not carried out."""

from ringhil.emulator.errors import RinghilError
from ringhil.protocol.line.management import Refusal


class NotDone(RinghilError):
    """Why a request is refused: the reason as the wire has it, and a sentence for people."""

    def __init__(self, why: Refusal, text: str) -> None:
        super().__init__(text)
        self.why = why
