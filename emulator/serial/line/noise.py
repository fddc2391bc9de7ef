"""Faults of a management line: which are set, and what they do to the bytes that pass."""

from random import Random

from ringhil.emulator.scenario import LineEvent

_ALL = 65_536


class LineFaults:
    """Holds the faults of a card's management line that are set, with their rates in 1/65536 of the bytes."""

    def __init__(self) -> None:
        self.rates: dict[str, int] = {}

    def apply(self, event: LineEvent) -> None:
        """Sets or clears the fault of this event, now."""
        if event.begins:
            self.rates[event.kind] = event.rate or _ALL
        else:
            self.rates.pop(event.kind, None)


class Noise:
    """Applies the faults to one direction of a line. The seed and the number of bytes that have passed decide which
    bytes are struck."""

    def __init__(self, faults: LineFaults, seed: str) -> None:
        self._faults, self._random = faults, Random(seed)

    def strike(self, data: bytes) -> bytes:
        """Returns what arrives of these bytes."""
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
