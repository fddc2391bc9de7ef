"""Somebody else's firmware on one GPU: what it answers is checked, and what goes wrong in it is told in one line."""

import logging
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from traceback import walk_tb
from typing import Any

from ringhil.emulator.documents import one, one_line, shown
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.server.claims import WORD, check_claim, check_number
from ringhil.emulator.terminated import ASKED_TO_END
from ringhil.firmware.actions import Action
from ringhil.firmware.boot import Boot
from ringhil.firmware.commands import CancelTimer, Remember, Send, SetTimer, Tell, Write
from ringhil.firmware.observations import Observation
from ringhil.firmware.program import Firmware
from ringhil.protocol import codec
from ringhil.protocol.line.firmware_loop import MOST_ACTIONS
from ringhil.protocol.registers import REGISTERS
from ringhil.protocol.wire import FLIT_BYTES, MAX_FRAME_FLITS, Port

METHODS = ("start", "on_timer", "on_frame", "on_status")
_LONGEST_NAME = 64  # of a timer
_LONGEST_DELAY = 1 << 40  # cycles
_WRITABLE = {register.name for register in REGISTERS if register.access == "rw"}
_OTHERS = {"ringhil", *sys.stdlib_module_names}
_COMMANDS = "Send, Tell, SetTimer, CancelTimer, Write, Remember and observations"

Maker = Callable[[Boot], Firmware]
_log = logging.getLogger(__name__)


class FirmwareError(RinghilError):
    """Somebody else's firmware can't be loaded, or does what none may; one line says which, and what."""


class FirmwareMissing(FirmwareError):
    """Nobody is there when a GPU is powered up."""


class FirmwareGone(RinghilError):
    """What runs a GPU's firmware has been pulled out, or hangs; the text is the end of a sentence about it.
    `recorded`: it went so in a run that is played again, whenever that was."""

    def __init__(self, why: str, *, recorded: bool = False) -> None:
        super().__init__(why)
        self.recorded = recorded


class FirmwareCrashed(FirmwareGone):
    """The program has crashed, or never answers: its GPU has no firmware any more, whenever that was. `seen`: what else
    was seen of it, which the next run of the same may not see."""

    def __init__(self, why: str, *, seen: str = "") -> None:
        super().__init__(why)
        self.seen = seen


class OutsidePython(ABC):
    """Firmware whose memory is in no object here, as that of a class is. (What a class of somebody's calls so is its
    own.)"""

    @property
    @abstractmethod
    def heard(self) -> int:
        """Another number whenever it has heard something: what is in its memory changes then only."""

    @abstractmethod
    def variables(self) -> dict[str, Any] | None:
        """What is in its memory, by name; None: nobody knows."""


class ForeignFirmware:
    """What `maker` has made of `boot`, under the name `name` in messages. Raises FirmwareError. Once it is gone it is
    told to `on_gone`, why, and says nothing any more. `board`: it is one, and gone, too, if it answers what none may:
    it may have been without power. At its first power-up, until it has started, either is an error, as of whatever
    else: of a board that has done nothing no run says anything."""

    def __init__(
        self,
        name: str,
        maker: Maker,
        boot: Boot,
        on_gone: Callable[[str], None] = lambda why: None,
        *,
        board: bool = False,
    ) -> None:
        self._name, self._boot, self._on_gone, self._gone = name, boot, on_gone, False
        self._board, self._forgiven = board, board and boot.boots > 1
        try:
            with self._told("power-up"):
                self._made: Any = maker(boot)
        except FirmwareGone as gone:
            self._has_gone("power-up", gone)
            return
        missing = [method for method in METHODS if not callable(getattr(self._made, method, None))]
        if missing:
            raise FirmwareError(f"{name}: has no method {missing[0]}; wanted are {', '.join(METHODS)}")

    def start(self, now: int) -> list[Action]:
        """Power-up."""
        actions = self._answer("start", now, now)
        self._forgiven = self._board
        return actions

    def on_timer(self, name: str, now: int) -> list[Action]:
        """A timer of its own has run out."""
        return self._answer("on_timer", now, name, now)

    def on_frame(self, frame: bytes, port: int, bad: bool, now: int) -> list[Action]:
        """A frame has come."""
        return self._answer("on_frame", now, frame, port, bad, now)

    def count_now(self, now: int) -> list[Action]:
        """Somebody wants a count; it may not take such wishes."""
        asked = not self._gone and callable(getattr(self._made, "count_now", None))
        return self._answer("count_now", now, now) if asked else []

    def variables(self) -> dict[str, Any] | None:
        """What is in its memory, by name, where it can tell; None: it can't, or has gone."""
        return None if self._gone or not isinstance(self._made, OutsidePython) else self._made.variables()

    @property
    def heard(self) -> object:
        """What is another whenever it has heard something, or may have: its memory changes then only."""
        return self._made.heard if isinstance(self._made, OutsidePython) else object()

    def on_status(self, status: int) -> None:
        """The status before a timer."""
        if not self._gone:
            with self._told("on_status"):
                self._made.on_status(status)

    def _answer(self, method: str, now: int, *given: object) -> list[Action]:
        if self._gone:
            return []
        where = f"{method} in cycle {now}"
        try:
            with self._told(where):
                return _actions(getattr(self._made, method)(*given), self._boot)
        except FirmwareGone as gone:
            self._has_gone(where, gone)
            return []

    def _has_gone(self, where: str, gone: FirmwareGone) -> None:
        self._gone = True
        seen = f"; {gone.seen}" if isinstance(gone, FirmwareCrashed) and gone.seen else ""
        _log.warning("%s: %s: gone, and the GPU hangs from now on: %s%s", self._name, where, str(gone), seen)
        self._on_gone(f"{where}: {gone}")

    @contextmanager
    def _told(self, where: str) -> Iterator[None]:
        try:
            with redirect_stdout(sys.stderr):
                yield
        except FirmwareGone as gone:
            if self._forgiven or gone.recorded or isinstance(gone, FirmwareCrashed):
                raise
            raise FirmwareMissing(f"{self._name}: {where}: {gone}") from None
        except FirmwareError as error:  # there is no place to show
            if self._forgiven:
                raise FirmwareGone(str(error)) from None
            raise FirmwareError(f"{self._name}: {where}: {error}") from None
        except ASKED_TO_END:
            raise
        except BaseException as error:
            what = one_line(f"{type(error).__name__}: {error}")
            raise FirmwareError(f"{self._name}: {where}: {what}, {_place(error)}") from error


def _place(error: BaseException) -> str:
    """The innermost line of somebody's own files by which it came about; of ringhil's, Python's or of packages, where
    there is none."""
    places = [
        (frame.f_globals.get("__name__", "").partition(".")[0], frame.f_code.co_filename, line)
        for frame, line in walk_tb(error.__traceback__)
    ]
    own = [
        place for place in places if place[0] not in _OTHERS and place[1][0] != "<" and "site-packages" not in place[1]
    ]
    _, file, line = (own or places)[-1]
    return f"{file}:{line}"


def _actions(found: object, boot: Boot) -> list[Action]:
    """An answer that can be carried out. Raises FirmwareError."""
    if not isinstance(found, list | tuple) or len(found) > MOST_ACTIONS:
        what = f"{len(found)} actions" if isinstance(found, list | tuple) else one(type(found).__name__)
        raise FirmwareError(f"found {what}; wanted is a list of {MOST_ACTIONS} actions at most")
    try:
        return [_checked(action, boot) for action in found]
    except ValueError as error:
        raise FirmwareError(str(error)) from None


def _checked(action: object, boot: Boot) -> Action:
    """An action that can be carried out. Raises ValueError."""
    match action:
        case Send(port, frame):
            _port(port)
            if not isinstance(frame, bytes) or not frame or len(frame) % FLIT_BYTES or len(frame) > _MOST:
                wanted = f"a multiple of {FLIT_BYTES} bytes, {_MOST} at most"
                raise ValueError(f"Send: frame: found {shown(frame)}; allowed is {wanted}")
            return action
        case Tell(port, message):
            _port(port)
            try:
                return Send(port, codec.encode(message))
            except Exception as error:
                raise ValueError(f"Tell: message: found {shown(message)}: {error}") from None
        case SetTimer(name, delay):
            _timer("SetTimer", name)
            check_number("SetTimer: delay", delay, 1, _LONGEST_DELAY)
        case CancelTimer(name):
            _timer("CancelTimer", name)
        case Write(register, value):
            if register not in _WRITABLE:
                raise ValueError(
                    f"Write: register: found {shown(register)}; allowed are {', '.join(sorted(_WRITABLE))}"
                )
            check_number("Write: value", value, 0, WORD)
        case Remember(epoch):
            check_number("Remember: epoch", epoch, 0, WORD)
            return Write("memory", epoch)
        case _ if isinstance(action, Observation):
            check_claim(action, boot)
        case _:
            raise ValueError(f"found {one(type(action).__name__)}; allowed are {_COMMANDS}")
    return action


_MOST = MAX_FRAME_FLITS * FLIT_BYTES


def _port(port: object) -> None:
    if not isinstance(port, Port):
        raise ValueError(f"port: found {shown(port)}; allowed are {', '.join(f'Port.{each.name}' for each in Port)}")


def _timer(what: str, name: object) -> None:
    if not isinstance(name, str) or len(name) > _LONGEST_NAME:
        raise ValueError(f"{what}: name: found {shown(name)}; allowed is a text of up to {_LONGEST_NAME} letters")
