"""NVML for a server that is being served."""

from pathlib import Path

from ringhil.emulator.nvml.answers import NvmlAnswers
from ringhil.emulator.nvml.listener import NvmlListener
from ringhil.emulator.nvml.usage import PERIOD, UsageSampler
from ringhil.emulator.nvml.views import Views
from ringhil.emulator.server import LiveServer

_SAMPLES = 6  # in a second of a ring that is paced
_LEAST = 1000  # cycles between two


def samples_every(clock: int | None) -> int:
    """Cycles between two samples. `clock`: cycles of the ring in a second, None: as fast as it can."""
    return PERIOD if clock is None else max(_LEAST, clock // _SAMPLES)


def nvml_listener(path: Path, server: LiveServer, period: int) -> NvmlListener:
    """For `server`, which has not started yet; `period`: cycles between two samples. Raises SocketError."""
    views = views_of(server)
    usage = UsageSampler(server, views, period)
    listener = NvmlListener(path, NvmlAnswers(server, views, usage))
    usage.on_sample = listener.sampled
    return listener


def views_of(server: LiveServer) -> Views:
    """Of its applications, and of the groups in which they are."""
    return Views(server.process_groups, {n: place for n, (place, _) in server.applications.by_context().items()})
