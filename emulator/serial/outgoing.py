"""What waits to leave for a client: whole messages, of which the first may have begun to leave."""

from collections import deque


class Outgoing:
    """`len`: bytes that wait."""

    def __init__(self) -> None:
        self._messages = deque[bytes]()
        self._begun = b""  # what is left of a message that has begun to leave
        self._waiting = 0

    def __len__(self) -> int:
        return self._waiting

    def put(self, message: bytes) -> None:
        """One more, behind the others."""
        self._messages.append(message)
        self._waiting += len(message)

    def take(self, most: int) -> bytes:
        """Up to so many bytes, which leave."""
        taken, left = list[bytes](), most
        while left > 0 and (self._begun or self._messages):
            first = self._begun or self._messages.popleft()
            taken.append(first[:left])
            self._begun = first[left:]
            left -= len(taken[-1])
        data = b"".join(taken)
        self._waiting -= len(data)
        return data

    def forget(self) -> None:
        """What hasn't begun to leave never does."""
        self._messages.clear()
        self._waiting = len(self._begun)
