"""Says where a bench stands, from within its simulation: which line it runs or waits at, in which time.

The runner names this module before those of the bench. It holds no tests; when the process gets `SIGNAL`, it writes a
line of JSON to the file named by RINGHIL_STANDING, and ends the simulation. A simulator that is busy outside of Python
does neither.
"""

import gc
import json
import os
import re
import signal
import sys
import warnings
from collections.abc import Iterator
from functools import wraps
from pathlib import Path
from types import CoroutineType, FrameType
from typing import Any

SIGNAL = signal.SIGUSR1
FILE, FOLDERS = "RINGHIL_STANDING", "RINGHIL_STANDING_IN"
_LONGEST = 200  # characters of what is waited for
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_BEAT = 2048  # cycles of a clock from one look for a signal to the next


def _of_bench(frame: FrameType | None) -> bool:
    folders = os.environ.get(FOLDERS, "").split(os.pathsep)
    return frame is not None and str(Path(frame.f_code.co_filename).parent) in folders


def _place(frame: FrameType) -> str:
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} in {frame.f_code.co_name}"


def _chain(task: "CoroutineType[Any, Any, Any]") -> Iterator[Any]:
    """A coroutine, and what each awaits."""
    inner: Any = task
    while inner is not None:
        yield inner
        inner = getattr(inner, "cr_await", None) or getattr(inner, "gi_yieldfrom", None)


def _waiting() -> tuple[str, str]:
    """Of the coroutines of the bench the one that waits in the deepest line of the bench; and what for."""
    found: list[tuple[int, str, str]] = []
    for task in gc.get_objects():
        if isinstance(task, CoroutineType) and _of_bench(task.cr_frame):
            links = list(_chain(task))
            frames: list[FrameType] = [f for link in links if _of_bench(f := getattr(link, "cr_frame", None)) and f]
            last = getattr(links[-1], "gi_frame", None)
            trigger = last.f_locals.get("self") if last is not None else links[-1]
            what = _ADDRESS.sub("", repr(trigger))[:_LONGEST]
            found.append((len(frames), _place(frames[-1]), what))
    return max(found, default=(0, "", ""))[1:]


def _tell(running: FrameType | None) -> bool:
    """Write it down and end the simulation; whether code of the bench is running."""
    from cocotb.simulator import stop_simulator
    from cocotb.utils import get_sim_time

    while running is not None and not _of_bench(running):
        running = running.f_back
    place, awaited = (_place(running), "") if running is not None else _waiting()
    sys.stdout.flush()
    said = {"place": place, "awaited": awaited, "ns": get_sim_time("ns"), "log": os.fstat(1).st_size}
    file = Path(os.environ[FILE])
    draft = file.with_suffix(".part")
    draft.write_text(json.dumps(said), encoding="utf-8")
    draft.replace(file)
    stop_simulator()
    return running is not None


def _in_python(_number: int, frame: FrameType | None) -> None:
    if _tell(frame):
        raise SystemExit("ended from outside")


def _watch() -> None:
    import cocotb
    from cocotb.clock import Clock
    from cocotb.task import Task
    from cocotb.triggers import Timer

    async def beat(clock: Clock) -> None:
        while True:
            await Timer(_BEAT * clock.period, clock.unit)

    start = Clock.start

    @wraps(start)
    def started(clock: Clock, start_high: bool = True) -> Task[None]:
        running = start(clock, start_high)
        cocotb.start_soon(beat(clock))
        return running

    # A clock needs no Python as it runs, and a signal is only handled when Python runs. A simulation without a clock
    # must come to its end as before.
    setattr(Clock, "start", started)  # noqa: B010
    signal.signal(SIGNAL, _in_python)
    warnings.filterwarnings("ignore", message=f"No tests were discovered in module: {__name__}")


if FILE in os.environ:
    _watch()
