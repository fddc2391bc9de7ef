"""Keys are done one after the other, also when many come at once, as over a slow line or from a paste: each of them
only when all that the one before it has led to has been done. Textual alone would hand on a key to whatever has the
focus at that time, so that the letters after a `/` could come before the line that is to take them."""

from collections import deque

from textual.app import App
from textual.events import Event, Key
from textual.message_pump import MessagePump

_ROUNDS = 3  # a key leads to an action, that to a message of a widget, and that to an action of the screen's
_MOST = 10_000  # keys that wait; what is more is lost


class KeysInOrder(App[None]):
    """An app that does so."""

    def __init__(self) -> None:
        super().__init__()
        self._keys = deque[Key]()
        self._at_a_key = False

    @property
    def typing(self) -> bool:
        """Whether a key is still to be done."""
        return self._at_a_key

    async def on_event(self, event: Event) -> None:
        """Keys wait for each other; what has been handed on to a widget comes back as forwarded."""
        if not isinstance(event, Key) or event.is_forwarded:
            await super().on_event(event)
        elif self._at_a_key:
            if len(self._keys) < _MOST:
                self._keys.append(event)
        else:
            await self._do_key(event)

    async def _do_key(self, key: Key) -> None:
        self._at_a_key = True
        node = self.focused or self.screen
        await super().on_event(key)
        self._after(deque([*node.ancestors_with_self] * _ROUNDS))

    def _after(self, pumps: deque[MessagePump]) -> None:
        """The next key, when each of these in its turn has done what it was told before."""
        while pumps:
            if pumps.popleft().call_later(self._after, pumps):
                return
        self.call_later(self._next_key)

    async def _next_key(self) -> None:
        if self._keys:
            await self._do_key(self._keys.popleft())
        else:
            self._at_a_key = False
