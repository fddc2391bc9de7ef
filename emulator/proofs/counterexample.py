"""A counterexample in words: what came into the node and what it did, cycle by cycle, by the names of fields."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ringhil.protocol import registers, wire
from ringhil.protocol.fields import fixed_fields
from ringhil.protocol.wire import LinkBit

STEP = 10  # units of time of the wave that a cycle takes
_TOP = "ringhil_environment"
_DRIVEN = ("clk_i", "rst_i")
_VALID, _SOF, _EOF, _ERR = LinkBit.VALID, LinkBit.SOF, LinkBit.EOF, LinkBit.ERR
_KINDS = {kind.code: str(kind) for kind in wire.Kind}
_REGISTERS = {r.address: r.name for r in registers.REGISTERS}


@dataclass(frozen=True)
class Trace:
    """The signals of the harness in each cycle since reset, by name; `straps` of the node."""

    cycles: tuple[dict[str, int], ...]
    straps: dict[str, int]

    def lines(self) -> list[str]:
        """One line for each thing that happens, `cycle what`; a frame's flits with the fields that they hold."""
        straps = ", ".join(f"{name} {value}" for name, value in self.straps.items())
        found = [f"straps: {straps}"]
        speakers = {f"{link} ->": _Speaker() for link in wire.Link} | {f"{link} <-": _Speaker() for link in wire.Link}
        mail = {port: _Speaker() for port in range(len(wire.Link))}
        writer, before = _Speaker(), dict[str, int]()
        for number, now in enumerate(self.cycles):
            for text in self._cycle(now, before, speakers, mail, writer):
                found.append(f"{number:6} {text}")
            before = now
        return found

    def _cycle(
        self,
        now: dict[str, int],
        before: dict[str, int],
        speakers: dict[str, "_Speaker"],
        mail: dict[int, "_Speaker"],
        writer: "_Speaker",
    ) -> Iterator[str]:
        changed = now["fault"] ^ before.get("fault", 0)
        for name, bit in registers.FaultBit.codes().items():
            if changed & bit:
                yield f"fault {name} {'on' if now['fault'] & bit else 'off'}"
        if now["reg_we"]:
            name = _REGISTERS.get(now["reg_addr"], f"0x{now['reg_addr']:02X}")
            yield f"register {name} := {now['reg_wdata_i']}"
        if now["mtx_valid"]:
            bits = _SOF * now["mtx_sof_i"] | _EOF * now["mtx_eof_i"]
            yield f"firmware -> port {now['mtx_port_i']}: {writer.says(bits, now['mtx_data_i'])}"
        for way, arrow in (("rx", "->"), ("tx", "<-")):
            for place, link in enumerate(wire.Link):
                ctl, data = _part(now[f"{way}_ctl"], place, 8), _part(now[f"{way}_data"], place, 64)
                was = _part(before.get(f"{way}_ctl", LinkBit.UP * 0x01010101), place, 8)
                yield from _link(f"{link:8} {arrow}", ctl, was, data, speakers[f"{link} {arrow}"])
        for port, speaker in mail.items():
            ctl, data = _part(now["mrx_ctl"], port, 4), _part(now["mrx_data"], port, 64)
            if ctl & 1:
                bits = _SOF * (ctl >> 1 & 1) | _EOF * (ctl >> 2 & 1) | _ERR * (ctl >> 3 & 1)
                yield f"mailbox  <- port {port}: {speaker.says(bits, data)}"
        if now.get("quiescent_o") and not before.get("quiescent_o"):
            yield f"the node rests until {now['wake_at_o']}, now is {now['now_q']}"
        elif before.get("quiescent_o") and not now.get("quiescent_o"):
            yield "the node no longer rests"


def _link(name: str, ctl: int, was: int, data: int, speaker: "_Speaker") -> Iterator[str]:
    if (ctl ^ was) & LinkBit.UP:
        yield f"{name} carrier {'up' if ctl & LinkBit.UP else 'down'}"
    if (ctl ^ was) & LinkBit.FAULT:
        yield f"{name} remote fault {'on' if ctl & LinkBit.FAULT else 'off'}"
    if ctl & _VALID:
        channel = "data" if ctl & LinkBit.DATA else "control"
        yield f"{name} {channel} {speaker.says(ctl, data, channel)}"
    elif data:
        yield f"{name} data {data:016X} in a cycle without a flit"
    if ctl & LinkBit.CREDIT:
        yield f"{name} credit"


class _Speaker:
    """Knows of each channel's frame what has gone before."""

    def __init__(self) -> None:
        self._frame: dict[str, tuple[int, int]] = {}

    def says(self, bits: int, data: int, channel: str = "") -> str:
        """A flit: its place in the frame, its fields."""
        kind, place = self._frame.get(channel, (-1, -1))
        if bits & _SOF:
            kind, place = data >> 56, -1
        place = place + 1 if kind >= 0 else -1
        self._frame[channel] = (-1, -1) if bits & _EOF else (kind, place)
        marks = [word for word, bit in (("first", _SOF), ("last", _EOF), ("bad", _ERR)) if bits & bit]
        where = f"flit {place}" if place >= 0 else "a flit of no frame"
        return f"{where}{''.join(f' ({m})' for m in marks)}: {_fields(kind, place, bool(bits & _EOF), data)}"


def _fields(kind: int, place: int, last: bool, data: int) -> str:
    word = f"{data:016X}"
    if last:
        return f"trailer {word}"
    name = _KINDS.get(kind)
    if place == 0:
        parts = [("kind", 1), ("card", 1), ("flags", 2), ("ttl", 2), ("home", 2)]
    elif name is None or place < 0:
        return word
    else:
        parts = fixed_fields(wire.FRAMES[name])
    at, said = 0, []
    for field, size in parts:
        if place * 8 <= at < place * 8 + 8 and at + size <= place * 8 + 8:
            value = data >> 8 * (place * 8 + 8 - at - size) & (1 << 8 * size) - 1
            said.append(
                f"{field} {name or value if field == 'kind' else f'0x{value:04X}' if field == 'flags' else value}"
            )
        at += size
    return ", ".join(said) or word


def _part(value: int, place: int, width: int) -> int:
    return value >> place * width & (1 << width) - 1


SHOWN = (
    *("rx_ctl", "rx_data", "tx_ctl", "tx_data", "mrx_ctl", "mrx_data", "fault", "now_q", "reg_we", "reg_addr"),
    *("mtx_valid", "mtx_sof_i", "mtx_eof_i", "mtx_port_i", "mtx_data_i", "reg_wdata_i", "quiescent_o", "wake_at_o"),
    *("card_q", "node_q", "size_q"),
)


def trace_of(seen: Sequence[dict[str, int]], reset: int) -> Trace:
    """The trace of a play: `seen` has the signals SHOWN of each cycle, of which the first `reset` are left out."""
    last = seen[-1]
    straps = {"card": last["card_q"], "node": last["node_q"], "ring size": last["size_q"]}
    return Trace(tuple(seen[reset:]), straps)


def read_inputs(vcd: str) -> list[dict[str, int]]:
    """The inputs of the harness in each cycle, by name, from the wave that the solver's driver writes."""
    names: dict[str, str] = {}
    scope: list[str] = []
    head, _, body = vcd.partition("$enddefinitions")
    for line in head.splitlines():
        words = line.split()
        if words[:1] == ["$scope"]:
            scope.append(words[2])
        elif words[:1] == ["$upscope"]:
            scope.pop()
        elif words[:1] == ["$var"] and scope in ([], [_TOP]) and words[4].endswith("_i") and words[4] not in _DRIVEN:
            names[words[3]] = words[4]
    state, cycles, begun = dict.fromkeys(names.values(), 0), list[dict[str, int]](), False
    for line in body.splitlines():
        if line.startswith("#"):
            if int(line[1:]) % STEP == 0:
                if begun:
                    cycles.append(dict(state))
                begun = True
            continue
        value, _, code = line[1:].partition(" ") if line.startswith("b") else (line[:1], "", line[1:])
        if code in names:
            state[names[code]] = int(value.replace("x", "0").replace("z", "0"), 2)
    return cycles
