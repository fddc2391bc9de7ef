"""Plans for a card port, and the order and the cycles in which a port that keeps the rules calls back."""

from collections.abc import Callable

from ringhil.emulator.card_port import CardPort


class Plans:
    """Make it, let `CYCLES` cycles pass, and `check`."""

    CYCLES = 100

    def __init__(self, port: CardPort) -> None:
        self._port, self._began = port, port.now
        self._called: list[tuple[str, int]] = []
        self._planning = True
        for name, cycle in (("last", 60), ("one", 50), ("two", 50), ("first", 10), ("past", -5), ("now", 0)):
            port.at(port.now + cycle, self._noted(name))
        port.after(50, self._more)
        port.after(50, self._noted("three"))
        self._planning = False

    def check(self) -> None:
        """All was called, each once, in the right order and cycle."""
        names, cycles = zip(*self._called, strict=True)
        assert names == ("past", "now", "first", "one", "two", "more", "three", "at once", "last"), names
        assert cycles[2:7] == (10, 50, 50, 50, 50), cycles
        assert cycles[8] == 60, cycles
        # What comes too late comes as soon as the port can.
        assert 0 <= cycles[0] == cycles[1] <= 1, cycles
        assert 50 <= cycles[7] <= 51, cycles

    def _more(self) -> None:
        self._noted("more")()
        self._planning = True
        self._port.after(0, self._noted("at once"))
        self._planning = False

    def _noted(self, name: str) -> Callable[[], None]:
        def call() -> None:
            assert not self._planning, "called back from within `at`"
            self._called.append((name, self._port.now - self._began))

        return call
