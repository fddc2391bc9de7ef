"""What runs on a GPU, as whoever runs it sees it: events go in, actions come out.

The kernel runs it in virtual time (`emulator/kernel/gpu_firmware.py`), the testbench kit on a simulator's clock
(`emulator/testbench/firmware.py`).
"""

from typing import Protocol

from ringhil.firmware.actions import Action


class Firmware(Protocol):
    """What every firmware can be fed. `now`, in cycles, is for time stamps only; `port` is a `wire.Port.code`."""

    def start(self, now: int) -> list[Action]: ...
    def on_timer(self, name: str, now: int) -> list[Action]: ...
    def on_frame(self, frame: bytes, port: int, bad: bool, now: int) -> list[Action]: ...
    def on_status(self, status: int) -> None: ...
