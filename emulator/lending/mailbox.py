"""A lent card's registers by a mailbox in its memory: for guests whose QEMU can't have the device of card_server.

The mailbox is the last 32 bytes of the memory, words of 32 bits, the least significant byte first. The guest writes all
but `answered`, and `asked` last; the answer is there when `answered` is `asked`.
"""

import struct

from ringhil.emulator.lending.lent_card import LentCard

MAILBOX_BYTES = 32
WRITE = 1
"""Bit of `command`; without it, it reads."""
_MAILBOX = struct.Struct("<IIIII")  # asked, answered, command, offset, value
_ANSWERED, _VALUE = struct.Struct("<I"), struct.Struct("<I")


class CardMailbox:
    """Looks into it when it is attended."""

    ended = ""
    alive = True

    def __init__(self, card: LentCard) -> None:
        self._card = card
        self._at = card.memory - MAILBOX_BYTES

    def attend(self) -> None:
        """One access at most, as the guest waits for its answer."""
        memory = self._card.bytes
        asked, answered, command, offset, value = _MAILBOX.unpack_from(memory, self._at)
        if asked == answered:
            return
        if command & WRITE:
            self._card.write(offset, 4, value)
        else:
            _VALUE.pack_into(memory, self._at + 16, self._card.read(offset, 4))
        _ANSWERED.pack_into(memory, self._at + 4, asked)

    def close(self) -> None:
        """Nobody looks into it any more."""
        self.alive = False
