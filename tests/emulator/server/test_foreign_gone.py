"""A board that is gone: at its first power-up an error, later a GPU that hangs, which is told nothing more."""

from dataclasses import replace
from typing import NoReturn

import pytest

from ringhil.emulator.server.foreign import FirmwareGone, FirmwareMissing, ForeignFirmware
from ringhil.firmware.actions import Action
from ringhil.firmware.boot import Boot
from ringhil.firmware.census import CensusConfig

BOOT = Boot(0, 3, 4, 1, 0, 1, CensusConfig(0, 3, 4, 0, 600, 100))


def gone(boot: Boot) -> NoReturn:
    raise FirmwareGone("pulled out")


def test_at_the_first_power_up_it_is_an_error() -> None:
    with pytest.raises(FirmwareMissing, match=r"^x: power-up: pulled out$"):
        ForeignFirmware("x", gone, BOOT, board=True)


def test_at_a_later_boot_its_gpu_hangs_and_says_nothing() -> None:
    said = list[str]()
    firmware = ForeignFirmware("x", gone, replace(BOOT, boots=2), said.append, board=True)
    assert said == ["power-up: pulled out"]
    firmware.on_status(3)
    assert [firmware.start(0), firmware.on_timer("t", 1), firmware.on_frame(bytes(8), 0, False, 2)] == [[], [], []]
    assert firmware.count_now(3) == []
    assert len(said) == 1


class Goes:
    """Is gone when its timer runs out."""

    def __init__(self, boot: Boot) -> None:
        self.told = list[str]()

    def _tell(self, what: str) -> list[Action]:
        self.told.append(what)
        return []

    def start(self, now: int) -> list[Action]:
        return self._tell("start")

    def on_timer(self, name: str, now: int) -> list[Action]:
        raise FirmwareGone("pulled out")

    def on_frame(self, frame: bytes, port: int, bad: bool, now: int) -> list[Action]:
        return self._tell("frame")

    def on_status(self, status: int) -> None:
        self._tell("status")

    def count_now(self, now: int) -> list[Action]:
        return self._tell("count")


def test_who_is_gone_is_told_nothing_more() -> None:
    made = Goes(BOOT)
    firmware = ForeignFirmware("x", lambda boot: made, BOOT, board=True)
    firmware.start(0)
    firmware.count_now(1)
    firmware.on_timer("t", 2)
    firmware.on_status(3)
    firmware.count_now(4)
    firmware.on_frame(bytes(8), 0, False, 5)
    assert made.told == ["start", "count"]
