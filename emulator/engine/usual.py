"""What the registers and inputs of a cell mostly are: its edges are cheaper while they are so (build/edge.py).

`FAIR`: no fault, no delay, links in use, no switch that moves, no register written. `CALM`: moreover no data frame, no
work and no context in motion; what is left are control frames on the ring. Where a node of somebody's own lacks a path,
that value isn't looked at.
"""

from collections.abc import Iterable

from ringhil.emulator.build.request import Usual
from ringhil.protocol.wire import LinkBit

_FAULTS = ("fault_i", "link_fault_i", "ber_port1_i", "ber_port2_i", "ber_host_i", "ber_boundary_i", "link_delay_i")
_MEDIA = ("u_port1", "u_port2", "u_host", "u_boundary")
_PORTS, _RING_AND_CPU, _LANES = range(4), range(3), range(2)
_LANE = ("u_lane.bypass_q", "u_lane.clip_q", "u_lane.drop_q", "u_lane.run_q", "u_lane.skip_q")
_STATISTICS = ("u_stat.bad_q", "u_stat.marked_q", "u_stat.purge_q")
_SWITCH = (
    "u_switch.tripped_q",
    "u_switch.restoring_q",
    "u_switch.timing_q",
    "u_position.timing_q",
    "u_position.stuck_q",
)
_OUTBOX = ("u_guardian.muted_q", "g_faults.u_babbler.place_q", "drop_q")
_CONTEXTS = ("answers_q", "ends_q", "command_q", "launched_q", "asked_q")
_TURNS = ("run_q", "switching_q", "ended_q", "first_q")
_WORK = ("u_timer.run_q", "u_timer.first_q", "u_queue.count_q", "u_outcome.result_q", "u_outcome.refuse_q")


def _below(parent: str, names: Iterable[str]) -> list[str]:
    return [f"{parent}.{name}" for name in names]


def _fair() -> list[str]:
    names = ["rst_i", "reg_we_i", *_FAULTS, "u_node.u_registers.lent_q"]
    for medium in _MEDIA:
        names += _below(medium, ("delay_q", "left_q"))
    # The link to another card is down where there is none.
    names += [f"u_node.g_rx[{port}].u_rx.u_state.state_q" for port in _RING_AND_CPU]
    for port in _PORTS:
        names += _below(f"u_node.g_rx[{port}].u_rx", ("u_state.timing_q", "u_fifo.skip_q"))
    for lane in _LANES:
        names += _below(f"u_node.u_control.g_lane[{lane}]", (*_LANE, *_STATISTICS))
    return names + _below("u_node", _SWITCH) + _below("u_node.u_control.u_outbox", _OUTBOX)


def _calm() -> list[str]:
    names = ["u_node.u_data.u_eject.locked_q", "u_node.u_result.active_q", *_below("u_node.u_compute", _WORK)]
    for port in _PORTS:
        names += _below(f"u_node.g_rx[{port}].u_rx", ("u_fifo.frames_q", "u_fifo.owed_q", "u_data.open_q"))
        names += _below(f"u_node.u_data.g_route[{port}].u_route", ("valid_i", "open_q"))
        names.append(f"u_node.u_data.g_way[{port}].u_arbiter.locked_q")
    names += [f"u_node.u_data.g_way[{port}].g_ring.u_turn.held_q" for port in _LANES]
    names += _below("u_node.u_compute.g_contexts.u_contexts", _CONTEXTS)
    return names + _below("u_node.u_compute.g_contexts.u_turns", _TURNS)


_TRAFFIC = LinkBit.VALID | LinkBit.CREDIT
FAIR = tuple(Usual(path) for path in _fair())
CALM = (
    *(Usual(path) for path in _calm()),
    *(Usual(f"p{ring}_rx_ctl_i", mask=LinkBit.DATA) for ring in (1, 2)),
    *(Usual(f"{port}_rx_ctl_i", mask=_TRAFFIC) for port in ("host", "boundary")),
)
