"""What a wave viewer shows of a broken rule: the cycle of the breach, and the signals that have to do with it."""

from collections.abc import Iterator

from ringhil.emulator.conformance.causes import symptom
from ringhil.emulator.conformance.report import RuleFinding
from ringhil.emulator.testbench.stimulus import Action, Carrier, Fault, Hold, Mark, Pause, Peek, Poke, Post, Send
from ringhil.emulator.trace.waves.viewers import WaveView
from ringhil.emulator.trace.waves.viewers.signals import Group, link_signals, pins
from ringhil.protocol.wire import BY_PORT, LINKS, Link

_BEFORE, _BEHIND = 40, 8  # cycles in sight around the breach
_AHEAD = {Link.P1: Link.P2, Link.P2: Link.P1}  # by which ring link a frame goes on
_MAIL = ("mtx_valid_i", "mtx_ready_o", "mtx_sof_i", "mtx_eof_i", "mtx_port_i", "mtx_data_i")
_REGISTERS = ("reg_we_i", "reg_addr_i", "reg_wdata_i", "reg_rdata_o")


def shown(found: RuleFinding) -> WaveView:
    """What goes into the node in the stimulus, where the breach shows, and what rules of its group look at."""
    breach, actions = found.breach, found.stimulus.actions
    first = max(0, breach.cycle - _BEFORE)
    last = min(max(breach.cycle + _BEHIND, first + _BEFORE), max(found.stimulus.cycles, breach.cycle + 1))
    note = f"{breach.rule}, cycle {breach.cycle}: {breach.what.split(';')[0]}"
    return WaveView(list(_groups(found)), _marks(breach.cycle, actions), (first, last), note)


def _marks(cycle: int, actions: tuple[Action, ...]) -> tuple[tuple[str, int], ...]:
    """The breach, and the last thing that was done before it."""
    last = max([a.at for a in actions if a.at < cycle], default=None)
    return (("breach", cycle), *([("last action", last)] if last is not None else []))


def _groups(found: RuleFinding) -> Iterator[Group]:
    actions, wrong = found.stimulus.actions, symptom(found.breach)
    group = found.breach.rule.split(".")[0]
    node = ["now_i", *(["fault_i"] if any(isinstance(a, Fault) for a in actions) else [])]
    node += ["quiescent_o", "wake_at_o"] if group == "quiescence" else []
    yield "node", pins(*node)
    into = {a.link for a in actions if isinstance(a, Send | Carrier | Mark | Hold | Pause)}
    out = {wrong.place} & {*LINKS} or {_AHEAD.get(Link.parse(link), link) for link in into}
    ports = {a.port for a in actions if isinstance(a, Post)}
    if not wrong.place:
        out |= {BY_PORT[port] for port in ports}
    for link in (link for link in LINKS if link in into):
        yield f"{link} rx", link_signals(link, "rx", _channels(found, link, "rx"))
    handed = [wrong.place.split()[1]] if wrong.place.startswith("mailbox") else []
    mail = [*(_MAIL if ports else ()), *(f"mrx{port}_{name}_o" for port in handed for name in ("ctl", "data"))]
    if mail:
        yield "mailbox", pins(*mail)
    if any(isinstance(a, Poke | Peek) for a in actions) or wrong.place.startswith(("register", "status")):
        yield "registers", pins(*_REGISTERS)
    for link in (link for link in LINKS if link in out):
        yield f"{link} tx", link_signals(link, "tx", _channels(found, link, "tx"))


def _channels(found: RuleFinding, link: str, way: str) -> str:
    """The channels on which frames go there: those that are sent, or those that the message speaks of."""
    sends = [a for a in found.stimulus.actions if isinstance(a, Send)]
    kinds = {a.frame.channel for a in sends if way == "tx" or a.link == link}
    if any(isinstance(a, Post) for a in found.stimulus.actions) and way == "tx":
        kinds.add("control")
    channels = "".join(c for c, channel in (("c", "control"), ("d", "data")) if channel in kinds)
    return channels or ("d" if found.breach.rule.startswith(("data", "compute")) else "c")
