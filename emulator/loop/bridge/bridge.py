"""One bridge: bytes in, bytes out."""

import ctypes


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
