"""A board at the end of a serial line as the far end. A request that isn't answered in time is asked again, under the
same id: the board does it once. A board that doesn't answer at all is gone, and its GPU with it.
"""

from collections.abc import Callable

from ringhil.emulator.documents import one_line
from ringhil.emulator.loop.far import FarFirmware, attach
from ringhil.emulator.serial.client import CardError, arrived, clock_of, descriptor, line_gone, opened_port
from ringhil.emulator.serial.line import BAUD, BITS
from ringhil.emulator.server.foreign import FirmwareError, FirmwareGone
from ringhil.firmware.boot import Boot
from ringhil.firmware.program import Firmware
from ringhil.protocol.line.framing import LONGEST, Unwrapper, wrap

PATIENCE = 1.0  # seconds in which nothing comes
TRIES = 4
_ID = slice(1, 3)  # of a message
_SHOWN = 8  # bytes of what is none


class Board:
    """One board, which runs the firmware of one GPU. Raises FirmwareError when nobody answers who can."""

    def __init__(self, url: str, *, baud: int = BAUD) -> None:
        self.url = url
        self.on_exchange: Callable[[bytes, bytes | None], None] = lambda request, answer: None
        self.difference: str | None = None
        try:
            self._line = opened_port(url, baud=baud, timeout=PATIENCE)
        except CardError as error:
            raise FirmwareError(str(error)) from error
        self._longest = 2 * LONGEST * BITS / baud  # seconds on the line, there and back
        try:
            self.name = one_line(attach(self.exchange).name.decode("utf-8", "replace"))
        except FirmwareGone as gone:
            raise FirmwareError(f"{url}: this is no firmware of a GPU: {gone}") from gone

    @property
    def forkable(self) -> bool:
        """Whether a forked process may use its line, too: some are read by a thread, which is not forked."""
        return descriptor(self._line) is not None

    def exchange(self, request: bytes) -> bytes:
        """Sends a request and returns the board's answer. Raises FirmwareGone."""
        try:
            answer = self._exchanged(request)
        except FirmwareGone:
            self.on_exchange(request, None)
            raise
        self.on_exchange(request, answer)
        return answer

    def _exchanged(self, request: bytes) -> bytes:
        unwrapper, nonsense, came, clock = Unwrapper(), 0, b"", clock_of(self._line)
        try:
            for _ in range(TRIES):
                with line_gone():
                    self._line.write(wrap(request))
                end = clock() + PATIENCE + self._longest  # also of one that talks without end
                while (left := end - clock()) > 0 and (data := arrived(self._line, min(PATIENCE, left))):
                    came = came or data[:_SHOWN]
                    for found in unwrapper.feed(data):
                        if isinstance(found, bytes) and found[_ID] == request[_ID]:
                            return found
                        nonsense += 1
        except CardError as error:
            raise FirmwareGone(str(error)) from error
        said = ""
        if nonsense:
            said = f"; {nonsense} messages came that are no answers"
        elif came:
            said = f"; what came is no message: found {came.hex(' ')}"
        raise FirmwareGone(f"no answer, asked {TRIES} times{said}")

    def close(self) -> None:
        """Closes the port."""
        self._line.close()

    def made(self, boot: Boot) -> Firmware:
        """Returns its firmware, which boots."""
        return FarFirmware(self.exchange, boot)
