"""How many requests each client may make: a bucket that fills as time passes."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

_MOST_CLIENTS = 4096  # that are remembered; of the others the bucket is full


@dataclass(frozen=True)
class RequestRate:
    """`rate`: requests a second. `burst`: at once, after a while without any."""

    rate: float = 20.0
    burst: float = 60.0


class RequestRates:
    """`monotonic`: seconds."""

    def __init__(self, limit: RequestRate, monotonic: Callable[[], float]) -> None:
        self._limit, self._monotonic = limit, monotonic
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # what is in it, and when that was so

    def wait(self, client: str) -> float:
        """A request has come: 0.0: it may; else the seconds until one may, and this one may not."""
        now = self._monotonic()
        there, since = self._buckets.pop(client, (self._limit.burst, now))
        there = min(self._limit.burst, there + (now - since) * self._limit.rate)
        may = there >= 1
        self._buckets[client] = (there - 1 if may else there, now)
        if len(self._buckets) > _MOST_CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if may else (1 - there) / self._limit.rate
