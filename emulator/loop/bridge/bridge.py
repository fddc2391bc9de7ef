"""One bridge: bytes come in, bytes go out; `serve` answers on its lines until it is switched off."""

import ctypes
import select
from collections.abc import Callable, Sequence

from ringhil.emulator.serial.server.lines import ClientLine, TcpListener


class Bridge:
    """The bridge and its GPU, powered up. Call `close` when it is done with."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._calls = library
        self._handle: int = library.bridge_create()

    def feed(self, data: bytes) -> bytes:
        """These bytes come in on its line; what it sends until it rests."""
        sent = ctypes.c_void_p()
        size = self._calls.bridge_feed(self._handle, data, len(data), ctypes.byref(sent))
        return ctypes.string_at(sent.value or 0, size) if size else b""

    def close(self) -> None:
        """Free the model."""
        if self._handle:
            self._calls.bridge_destroy(self._handle)
            self._handle = 0


_WAIT = 0.2  # seconds


def serve(bridge: Bridge, lines: Sequence[ClientLine | TcpListener], ended: Callable[[], bool]) -> None:
    """Answers whoever asks, one after the other. What a client doesn't take is lost."""
    clients = [line for line in lines if isinstance(line, ClientLine)]
    listeners = [line for line in lines if isinstance(line, TcpListener)]
    while not ended() and (clients or listeners):
        waited_for: list[ClientLine | TcpListener] = [*clients, *listeners]
        ready = select.select(waited_for, [], [], _WAIT)[0]
        for client in [client for client in clients if client in ready]:
            data = client.read()
            if data is None:
                clients.remove(client)
                client.close()
            elif data:
                _write(client, bridge.feed(data))
        came = [listener.accept() for listener in listeners if listener in ready]
        clients += [client for client in came if client is not None]


def _write(client: ClientLine, data: bytes) -> None:
    while data and select.select([], [client], [], _WAIT)[1]:
        written = client.write(data)
        if written is None:  # it is gone, as its next read will say
            return
        data = data[written:]
