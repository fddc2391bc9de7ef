"""How long things take on the ring, in cycles: from these follow timeouts and recovery bounds.

| symbol | meaning |
|---|---|
| H | healthy hop: first flit in to first flit out |
| B | bypassed hop |
| R | how much later a message that carries records ends after each working GPU: its record's flits |
| M | flits of a message as it sets out, with its origin's own record |
| S | switch-over: from the decision to the first flit on the new path |
"""

from ringhil.protocol.registers import MAX_LINK_DELAY

HEALTHY_HOP = 2
BYPASS_HOP = 1
RECORD_FLITS = 2
MESSAGE_FLITS = 7  # header, the entry's own record, trailer
SWITCH_OVER = 3
KEEPALIVE_FLITS = 7


def ring_time(gpus: int, *, records: bool, working: int | None = None) -> int:
    """Most cycles from writing a statistics message to its last flit coming home.

    `working` of the `gpus` take part (all when None), the others are bypassed: T_ring of the protocol.
    """
    part = gpus if working is None else working
    hops = part * HEALTHY_HOP + (gpus - part) * BYPASS_HOP
    return hops + MESSAGE_FLITS + (part * RECORD_FLITS if records else 0) + _MAILBOX


# Mailbox: written flit by flit, sent when whole, and once more through the home GPU.
_MAILBOX = MESSAGE_FLITS + 4


def round_timeout(gpus: int, watchdog: int, *, records: bool) -> int:
    """Retry a census after this long: N*max(H, B) and a margin.

    The margin covers a message turned round at a cut (it travels nearly twice as far), the other direction's
    message being written first, one watchdog, a link that delays as much as one can, and keepalives that leave
    first.
    """
    margin = watchdog + SWITCH_OVER + MESSAGE_FLITS + 2 * MAX_LINK_DELAY + 8 * KEEPALIVE_FLITS
    return 2 * ring_time(gpus, records=records) + margin
