"""Faults of a management line: those that are set, and the bytes that they strike."""

from random import Random

from ringhil.emulator.scenario import LineEvent

_ALL = 65_536


class LineFaults:
    """The faults of a card's management line that are set, with their rates."""

    def __init__(self) -> None:
        self.rates: dict[str, int] = {}

    def apply(self, event: LineEvent) -> None:
        """It begins or ends now."""
        if event.begins:
            self.rates[event.kind] = event.rate or _ALL
        else:
            self.rates.pop(event.kind, None)


class Noise:
    """One direction of a line. Which bytes are struck follows from the seed and from how many have passed."""

    def __init__(self, faults: LineFaults, seed: str) -> None:
        self._faults, self._random = faults, Random(seed)

    def strike(self, data: bytes) -> bytes:
        """What becomes of these bytes."""
        rates = self._faults.rates
        if not rates:
            return data
        if "line_cut" in rates:
            return b""
        corrupt, drop, double = (rates.get(f"line_{name}", 0) for name in ("corrupt", "drop", "double"))
        found = bytearray()
        for byte in data:
            if self._hits(drop):
                continue
            struck = byte ^ 1 << self._random.randrange(8) if self._hits(corrupt) else byte
            found.append(struck)
            if self._hits(double):
                found.append(struck)
        return bytes(found)

    def _hits(self, rate: int) -> bool:
        return rate > 0 and self._random.randrange(_ALL) < rate
