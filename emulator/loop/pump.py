"""A line that has no descriptor, such as one by RFC 2217, as one that has: what comes on either goes to the other."""

import socket
import threading
from contextlib import suppress

import serial

CHUNK = 4096
LOOK = 0.1  # seconds: a line is read for so long, and looks then whether it is to end


class Pump:
    """Carries bytes between `line`, whose timeout is LOOK, and `descriptor`. When the line is gone nothing more comes
    there, as at the end of a socket."""

    def __init__(self, line: "serial.SerialBase") -> None:
        self._line, self._ended = line, False
        self._near, self._far = socket.socketpair()
        self._near.setblocking(False)
        self.descriptor = self._near.fileno()
        self._threads = [threading.Thread(target=carry, daemon=True) for carry in (self._there, self._back)]
        for thread in self._threads:
            thread.start()

    def _there(self) -> None:
        with suppress(serial.SerialException, OSError):
            while data := self._far.recv(CHUNK):
                self._line.write(data)
        self._end()

    def _back(self) -> None:
        with suppress(serial.SerialException, OSError):
            while not self._ended:
                self._far.sendall(self._line.read(max(1, self._line.in_waiting)))
        self._end()

    def _end(self) -> None:
        self._ended = True
        with suppress(OSError):
            self._far.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the line, too."""
        self._end()
        for thread in self._threads:
            thread.join()
        for end in (self._near, self._far, self._line):
            end.close()
