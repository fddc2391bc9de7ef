"""Register map of a GPU node: 32-bit registers, word addresses, read and written by firmware and debuggers.

Generated from here: the constants in `rtl/ringhil_pkg.sv` and the table in docs/reference/protocol.md.
"""

from dataclasses import dataclass

from ringhil.protocol.enums import Bits, Coded


@dataclass(frozen=True)
class Register:
    """One register: `reset` is its value at power-up; `access` is "rw" or "ro"."""

    name: str
    address: int
    access: str
    reset: int
    unit: str
    doc: str


_RW = (
    ("control", 0, "bits", "ControlBit"),
    ("gpu_type", 0, "", "GPU type as in the statistics record; 8 bits"),
    ("weight", 1, "", "share of work that this GPU wants, relative to the others; 16 bits"),
    ("watchdog", 64, "cycles", "W: a control frame that makes no progress for this long trips the switch"),
    ("heartbeat", 16384, "cycles", "period of the switch's liveness check of its GPU; 0 switches it off"),
    ("allowance", 16, "frames", "control frames that the GPU may originate per allowance period"),
    ("allowance_period", 1024, "cycles", "period of the guardian"),
    (
        "link_restore",
        136,
        "cycles",
        "carrier must be back for this time before a wrap ends; more than a link's round trip",
    ),
    ("compute_setup", 32, "cycles", "fixed cost of a work unit on the compute engine"),
    ("compute_per_flit", 1, "cycles", "cost of each payload flit on the compute engine"),
    ("gpu_restore", 64, "cycles", "a GPU must be well again for this long before its switch lets it take part"),
    (
        "boundary_peer",
        255,
        "card",
        "a boundary GPU's: the card at the other end of its link, as in its records; 8 bits",
    ),
    ("crossings", 0, "cards", "a boundary GPU's: bit i set: frames for card i leave by its boundary port; 16 bits"),
    ("exits", 0, "cards", "an entry GPU's: bit i set: its card has a boundary GPU for card i (R8); 16 bits"),
    ("memory", 0, "", "kept by the switch while the GPU is down: the highest epoch that its firmware has granted"),
    ("device_memory", 65536, "pages", "memory that all contexts of the compute engine share"),
    ("context_switch", 150, "cycles", "what it costs to go from one context to another, beside its state"),
    ("default_slice", 2000, "cycles", "time slice of a context that names none"),
    ("run_power", 0, "energy", "units that a cycle takes in which the compute engine runs; 16 bits"),
    ("idle_power", 0, "energy", "the same of an idle one; 16 bits"),
    ("low_power", 0, "energy", "the same in low power; 16 bits"),
    ("off_power", 0, "energy", "the same when it is off; 16 bits"),
    ("low_after", 0, "cycles", "of rest, until the compute engine goes into low power; 0: never"),
    ("off_after", 0, "cycles", "of rest, until it goes off, unless contexts hold memory; 0: never"),
    ("low_wake", 0, "cycles", "that work takes longer which begins in low power; 16 bits"),
    ("off_wake", 0, "cycles", "the same of work that begins when it is off; 16 bits"),
    ("lent", 0, "", "1: the GPU is lent to a virtual machine, and its switch joins the ring's ports; 1 bit"),
)

_RO = (
    ("status", "bits", "StatusBit"),
    ("forwarded", "frames", "statistics frames that this GPU counted itself into and that ended good"),
    ("rx_bad_port1", "frames", "control frames that arrived bad on port 1, not marked by an earlier hop"),
    ("rx_bad_port2", "frames", "the same on port 2"),
    ("marked_port1", "frames", "control frames that arrived on port 1 with an earlier hop's error mark"),
    ("marked_port2", "frames", "the same on port 2"),
    ("ttl_dropped", "frames", "frames dropped because their TTL was used up"),
    ("purged", "frames", "circulating statistics frames purged by the monitor"),
    ("trips", "events", "watchdog and heartbeat trips"),
    ("mutes", "events", "times that the guardian muted the GPU"),
    ("wraps", "events", "times that a ring port went down"),
    (
        "overflowed",
        "frames",
        "control frames that found their lane's buffer full, lost or cut: each once",
    ),
    ("data_bad", "frames", "work for this GPU that arrived damaged"),
    ("data_dropped", "frames", "data frames addressed to this GPU while it was bypassed, or with no way out"),
    ("units_done", "units", "work units computed"),
    ("units_refused", "units", "work units refused with an acknowledgement"),
    ("crossed", "frames", "data frames sent to another card"),
    ("stalled", "frames", "data frames dropped because the way to another card stayed blocked"),
    ("contexts", "", "contexts of the compute engine, that of plain work units included; 0: it has none"),
    ("memory_held", "pages", "memory that contexts hold"),
    ("turn", "bits", "who has the compute engine now: see below"),
)

# They follow time: a GPU that rests reads otherwise from cycle to cycle.
_LIVE = (
    ("power_state", "", "of the compute engine, see below; 0: it has no meter"),
    ("energy_low", "energy", "units that it has taken since reset: bits 31 to 0"),
    ("energy_high", "energy", "the same: bits 63 to 32"),
    ("busy_low", "cycles", "that it has run since reset, switches and waking up included: bits 31 to 0"),
    ("busy_high", "cycles", "the same: bits 63 to 32"),
)

REGISTERS: tuple[Register, ...] = (  # of a node, in the order of their addresses
    tuple(Register(name, address, "rw", reset, unit, doc) for address, (name, reset, unit, doc) in enumerate(_RW))
    + tuple(Register(name, 0x20 + i, "ro", 0, unit, doc) for i, (name, unit, doc) in enumerate(_RO))
    + tuple(Register(name, 0x35 + i, "ro", 0, unit, doc) for i, (name, unit, doc) in enumerate(_LIVE))
)

LIVE = tuple(name for name, _, _ in _LIVE)

# A node whose compute engine has no contexts lacks these: they read 0, and take nothing.
OF_CONTEXTS = ("device_memory", "context_switch", "default_slice", "contexts", "memory_held", "turn")
# The same of one without a meter.
OF_METER = (
    *("run_power", "idle_power", "low_power", "off_power", "low_after", "off_after", "low_wake", "off_wake"),
    *LIVE,
)
# That of one that can't be lent.
OF_LENDING = "lent"

ADDRESS: dict[str, int] = {r.name: r.address for r in REGISTERS}  # of a register, by its name


class ControlBit(Bits):
    """Bits of the register `control`."""

    ENTRY = 1 << 0, "frames between the CPU and the ring pass through this GPU (R5)"
    MONITOR = 1 << 1, "marks circulating statistics frames, purges them at their second time round"
    ENTRY_CAPABLE = 1 << 2, "flag in this GPU's records (R10)"
    BOUNDARY = 1 << 3, "this GPU speaks to another card: its boundary port is open, and its records say so (R8)"
    FROM_ABOVE = 1 << 4, "the card at the boundary port is nearer to the root of the tree of cards, or beside it"


class StatusBit(Bits):
    """Bits of the register `status`."""

    BYPASS_CW = 1 << 0, "its clockwise lane is bypassed"
    BYPASS_CCW = 1 << 1, "its counter-clockwise lane is"
    TRIPPED = 1 << 2, "the watchdog has found it hanging"
    MUTED = 1 << 3, "the guardian takes no more of its frames in this period"
    HEALTHY = 1 << 4, "it works"
    WRAP_PORT1 = 1 << 5, "ring port 1 is down: frames are turned round"
    WRAP_PORT2 = 1 << 6, "ring port 2 is"
    HOST_DOWN = 1 << 7, "its link to the CPU is down"
    BOUNDARY_DOWN = 1 << 8, "its link to another card is"
    RESTORING = 1 << 9, "well again for less than `gpu_restore`, or not well yet"
    STUCK = 1 << 10, "the switch does not follow"
    DEGRADED = 1 << 11, "it computes slowly"
    LENT = 1 << 12, "it is lent, and out of the ring on purpose"


class PowerState(Coded):
    """What the register `power_state` says."""

    RUNNING = "running", 1, "work has it, a switch or waking up included"
    IDLE = "idle", 2, "it rests"
    LOW = "low", 3, "it rests in low power"
    OFF = "off", 4, "it is off"


class TurnBit(Bits):
    """Bits of the register `turn`; below them, in 8 bits, the context."""

    TAKEN = 1 << 8, "somebody has the engine"
    SWITCHING = 1 << 9, "it has not begun to work for the context yet"


TURN_CONTEXT = 0xFF  # of the register `turn`, while the engine is taken


class FaultBit(Bits):
    """Fault port of a node."""

    DEAD = 1 << 0, "it works no more"
    HANG = 1 << 1, "it lets no frame out, and does not say so"
    CORRUPT = 1 << 2, "it damages what it passes on"
    SKIP_COUNT = 1 << 3, "it does not count itself"
    DOUBLE_COUNT = 1 << 4, "it counts two more"
    BABBLE = 1 << 5, "it sends without end"
    DUPLICATE_ID = 1 << 6, "it uses the number of the GPU before it"
    SLOW = 1 << 7, "it computes four times as slowly"
    SWITCH_STUCK_THROUGH = 1 << 8, "its switch never bypasses it"
    SWITCH_STUCK_BYPASS = 1 << 9, "its switch always does"
    KEEPALIVE_LOSS = 1 << 10, "its keepalives are lost"


class LinkFaultBit(Bits):
    """Fault port of the link channels in front of a node's ports."""

    CUT_PORT1 = 1 << 0, "ring port 1"
    CUT_PORT2 = 1 << 1, "ring port 2"
    CUT_HOST = 1 << 2, "link to the CPU"
    CUT_BOUNDARY = 1 << 3, "link to another card"


MAX_LINK_DELAY = 63  # cycles that a link can be delayed by
FAULT_PORT_WIDTH = 16
