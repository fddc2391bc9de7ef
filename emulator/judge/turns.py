"""Whose turn it is when the GPUs of all cards get a unit each in turn (`policy: round_robin`)."""

_Gpu = tuple[int, int]  # card and number


class Turns:
    """Feed it in the order in which units go out. The circle goes by card, and by number within one."""

    def __init__(self) -> None:
        self._last: _Gpu = (-1, -1)

    def next(self, members: frozenset[_Gpu]) -> _Gpu | None:
        """Who is next of those that are known now; None: nobody is known."""
        return min((gpu for gpu in members if gpu > self._last), default=min(members, default=None))

    def passed(self, to: _Gpu, members: frozenset[_Gpu]) -> list[_Gpu]:
        """A unit goes to a GPU: those whose turn it was before, in their order."""
        last, self._last = self._last, to
        ahead = sorted(gpu for gpu in members if gpu > last) + sorted(gpu for gpu in members if gpu <= last)
        return ahead[: ahead.index(to)] if to in ahead else []
