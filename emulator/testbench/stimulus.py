"""What is done to a node, as data: replayable, comparable, reducible, readable as JSON.

Every action has a cycle `at` which it is begun. Frames queue up behind earlier ones of their port and channel.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

from ringhil.emulator.errors import RinghilError
from ringhil.emulator.files import reason_of
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.protocol import registers, wire

MAX_CYCLES = 10_000_000
MAX_START = 1 << 62  # cycles
MAX_ACTIONS = 100_000
MAX_BYTES = 64_000_000  # of a stimulus file
_SCHEMA = "ringhil-stimulus-1"


class StimulusError(RinghilError, ValueError):
    """This file is no stimulus; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Send:
    """`frame` into `link` (`wire.Link`). `at`, here and below: the cycle in which it is begun."""

    at: int
    link: str
    frame: RingFrame


@dataclass(frozen=True, slots=True)
class Post:
    """Whole flits, `data`, into the mailbox for `port` (`wire.Port.code`); `begun`, `finished`: with a beginning, with
    an end."""

    at: int
    port: int
    data: bytes
    finished: bool = True
    begun: bool = True


@dataclass(frozen=True, slots=True)
class Fault:
    """The fault `name` of the GPU (see registers.FaultBit) begins or, without `on`, ends."""

    at: int
    name: str
    on: bool


@dataclass(frozen=True, slots=True)
class Poke:
    """`value` is written to `register`, a name or a word address."""

    at: int
    register: str | int
    value: int


@dataclass(frozen=True, slots=True)
class Peek:
    """`register`, a name or a word address, is read; the answer is in `Observed.peeks`."""

    at: int
    register: str | int


@dataclass(frozen=True, slots=True)
class Carrier:
    """The carrier into `link` goes or, with `up`, comes back."""

    at: int
    link: str
    up: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """The far end's remote-fault mark on `link`: while it is `on`, that end doesn't use the link."""

    at: int
    link: str
    on: bool


@dataclass(frozen=True, slots=True)
class Hold:
    """Each data frame that leaves by `link` from here on keeps its slot at the receiver for `cycles`; a negative
    number: until the next Hold."""

    at: int
    link: str
    cycles: int


@dataclass(frozen=True, slots=True)
class Pause:
    """The source of `link` sends nothing from here on or, without `on`, goes on."""

    at: int
    link: str
    on: bool


@dataclass(frozen=True, slots=True)
class Repeat:
    """A few frames, sent again and again by the bench itself.

    `sends`, each at its cycle of `every`, again and again, so many `times`, as fast as the simulator can: nobody
    sees the frames that come and go meanwhile. Nothing else may be under way, and a data frame may only come again when
    it has found its credit again.
    """

    at: int
    sends: tuple[Send, ...]
    every: int
    times: int


Action = Send | Post | Fault | Poke | Peek | Carrier | Mark | Hold | Pause | Repeat
_KINDS: dict[str, type[Any]] = {
    c.__name__.lower(): c for c in (Send, Post, Fault, Poke, Peek, Carrier, Mark, Hold, Pause, Repeat)
}
MAX_SCRIPT = 64  # cycles


@dataclass(frozen=True)
class Stimulus:
    """All that is done to a node, as data.

    Straps (`card`, `node`, ring `size`), `actions` in order of their cycles, and how many `cycles` are played in
    all.

    `start` is the node's time in cycle 0, a multiple of 256 so that time stamps (its low byte) are those of cycles.
    """

    actions: tuple[Action, ...]
    cycles: int
    card: int = 0
    node: int = 1
    size: int = 4
    start: int = 0

    @classmethod
    def of(cls, actions: Iterable[Action], *, tail: int = 200, **straps: int) -> Self:
        """Actions in any order; played until `tail` cycles after the last one."""
        ordered = tuple(sorted(actions, key=lambda a: a.at))
        return cls(ordered, (ordered[-1].at if ordered else 0) + tail, **straps)

    def with_actions(self, actions: Iterable[Action]) -> Self:
        """The same with other actions (in order)."""
        return replace(self, actions=tuple(actions))

    def to_json(self) -> str:
        """One action a line."""
        head = {"schema": _SCHEMA, "card": self.card, "node": self.node, "size": self.size, "cycles": self.cycles}
        head |= {"start": self.start} if self.start else {}
        lines = ",\n  ".join(json.dumps(_as_data(action)) for action in self.actions)
        return json.dumps(head)[:-1] + f', "actions": [\n  {lines}\n]}}\n'

    @classmethod
    def from_json(cls, text: str, where: str = "stimulus") -> Self:
        """Raises StimulusError: where, what was found, what is allowed."""
        if len(text) > MAX_BYTES:
            raise StimulusError(f"{where}: {len(text)} characters, at most {MAX_BYTES} are read")
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise StimulusError(f"{where}: no JSON: {error}") from None
        if not isinstance(data, dict) or data.get("schema") != _SCHEMA:
            raise StimulusError(f"{where}: no stimulus: 'schema' must be '{_SCHEMA}'")
        actions = data.get("actions")
        if not isinstance(actions, list) or len(actions) > MAX_ACTIONS:
            raise StimulusError(f"{where}: 'actions' must be a list of at most {MAX_ACTIONS}")
        straps = {
            name: _number(data.get(name), f"{where}: {name}", low, high)
            for name, low, high in (("card", 0, 254), ("node", 0, 1023), ("size", 2, 1024), ("cycles", 1, MAX_CYCLES))
        }
        start = _number(data.get("start", 0), f"{where}: start", 0, MAX_START)
        if start % 256:
            raise StimulusError(f"{where}: start is {start}; allowed are multiples of 256")
        return cls(tuple(_action(a, f"{where}: action {i}") for i, a in enumerate(actions)), **straps, start=start)

    @classmethod
    def read(cls, path: Path) -> Self:
        """A stimulus from a file. Raises StimulusError."""
        try:
            if path.stat().st_size > MAX_BYTES:
                raise StimulusError(f"{path}: larger than {MAX_BYTES} bytes")
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise StimulusError(f"{path}: cannot be read: {reason_of(error)}") from None
        except UnicodeDecodeError:
            raise StimulusError(f"{path}: no UTF-8 text") from None
        return cls.from_json(text, str(path))


def _as_data(action: Action) -> dict[str, Any]:
    data: dict[str, Any] = {"do": type(action).__name__.lower()}
    for field in fields(action):
        value = getattr(action, field.name)
        if isinstance(value, RingFrame):
            data |= {"channel": value.channel, "frame": value.data.hex()}
            data |= {name: getattr(value, name) for name in ("err", "sof", "eof")}
        elif isinstance(value, tuple):
            data[field.name] = [_as_data(each) for each in value]
        else:
            data[field.name] = value.hex() if isinstance(value, bytes) else value
    return data


def _number(value: object, where: str, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        raise StimulusError(f"{where} is {value!r}; allowed are whole numbers from {low} to {high}")
    return value


def _choice(value: object, where: str, allowed: Iterable[str]) -> str:
    names = sorted(allowed)
    if not isinstance(value, str) or value not in names:
        raise StimulusError(f"{where} is {value!r}; allowed are {', '.join(names)}")
    return value


def _register(value: object, where: str) -> str | int:
    return _number(value, where, 0, 255) if type(value) is int else _choice(value, where, registers.ADDRESS)


def _truth(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise StimulusError(f"{where} is {value!r}; allowed are true and false")
    return value


def _flits(value: object, where: str) -> bytes:
    try:
        data = bytes.fromhex(value) if isinstance(value, str) else b""
    except ValueError:
        data = b""
    if not data or len(data) % wire.FLIT_BYTES or len(data) > wire.MAX_FRAME_FLITS * wire.FLIT_BYTES:
        raise StimulusError(f"{where} must be whole flits in hexadecimal, 1 to {wire.MAX_FRAME_FLITS} of them")
    return data


def _action(data: object, where: str) -> Action:
    if not isinstance(data, dict):
        raise StimulusError(f"{where} must be an object")
    kind = _choice(data.get("do"), f"{where}: 'do'", _KINDS)
    at = _number(data.get("at"), f"{where}: 'at'", 0, MAX_CYCLES)

    def of(name: str) -> tuple[object, str]:
        return data.get(name), f"{where}: '{name}'"

    if kind == "send":
        channel = _choice(*of("channel"), ("control", "data"))
        err, sof, eof = (_truth(*of(name)) for name in ("err", "sof", "eof"))
        frame = RingFrame(_flits(*of("frame")), "data" if channel == "data" else "control", err, sof, eof)
        return Send(at, _choice(*of("link"), wire.LINKS), frame)
    if kind == "post":
        finished, begun = (_truth(*of(name)) for name in ("finished", "begun"))
        return Post(at, _number(*of("port"), 0, len(wire.Port) - 1), _flits(*of("data")), finished, begun)
    if kind == "fault":
        return Fault(at, _choice(*of("name"), registers.FaultBit.codes()), _truth(*of("on")))
    if kind == "poke":
        value = _number(*of("value"), 0, 0xFFFFFFFF)
        return Poke(at, _register(*of("register")), value)
    if kind == "peek":
        return Peek(at, _register(*of("register")))
    if kind == "repeat":
        sends = data.get("sends")
        if not isinstance(sends, list) or len(sends) > MAX_SCRIPT:
            raise StimulusError(f"{where}: 'sends' must be a list of at most {MAX_SCRIPT}")
        each = [_action(one, f"{where}: 'sends' {i}") for i, one in enumerate(sends)]
        whole = tuple(one for one in each if isinstance(one, Send))
        if len(whole) < len(each):
            raise StimulusError(f"{where}: 'sends' may hold nothing but frames to send")
        every = _number(*of("every"), 1, MAX_SCRIPT)
        return Repeat(at, whole, every, _number(*of("times"), 1, MAX_CYCLES // every))
    link = _choice(*of("link"), wire.LINKS)
    if kind == "carrier":
        return Carrier(at, link, _truth(*of("up")))
    if kind == "mark":
        return Mark(at, link, _truth(*of("on")))
    if kind == "hold":
        return Hold(at, link, _number(*of("cycles"), -1, MAX_CYCLES))
    return Pause(at, link, _truth(*of("on")))
