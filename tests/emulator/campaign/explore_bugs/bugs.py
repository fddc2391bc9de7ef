"""Bugs seeded into copies of RTL, firmware and CPU: what stands there, what is put in its place.

Each is a mistake that somebody could make, and that shows only when something fails: without any fault the server
counts, elects and works as it should.
"""

from dataclasses import dataclass

_TIMES = """  settings: {census_period: 600, firmware_latency: 8, host_latency: 8, keepalive_interval: 400,
             wait_to_restore: 900, allowance_period: 512}
"""
_RING = f"""server:
  cards: {{a: {{gpus: 6, host_links: [0, 1]}}}}
{_TIMES}"""
SERVERS = {
    "ring": _RING,
    "working ring": f"{_RING}workload: {{units: 400, size: 300}}\n",
    "two working cards": f"""server:
  cards: {{a: {{gpus: 4}}, b: {{gpus: 3}}}}
{_TIMES}workload: {{units: 400, size: 300}}
""",
}


@dataclass(frozen=True)
class Bug:
    """One mistake in `file`, and the kinds of fault among which the exploration looks for it."""

    name: str
    file: str
    before: str
    after: str
    faults: tuple[str, ...]
    server: str = "ring"
    number: int = 24  # cases to play
    options: tuple[str, ...] = ("--phases", "2")


_PAIRS = ("--phases", "1", "--lasts", "left", "--depth", "2", "--pairs", "together")
_EIGHT = ("--phases", "8", "--lasts", "left")

BUGS = (
    Bug(
        "the mark of a turned frame is lost",
        "rtl/link_tx.sv",
        "if (loop_i) edited[32+FLAG_WRAPPED] = 1'b1;",
        "if (loop_i) edited[32+FLAG_WRAPPED] = raw[32+FLAG_WRAPPED];",
        ("link_cut",),
    ),
    Bug(
        "half a ring is counted when the other half's message is lost",
        "firmware/census.py",
        """        if one.wrapped:
            return Rejection.HALF
""",
        "",
        ("link_cut",),
        number=60,
        options=_EIGHT,
    ),
    Bug(
        "a stuck switch takes its carrier off when it should not",
        "rtl/switch_position.sv",
        "assign silent_o  = stuck_q && bypass_i && differs;",
        "assign silent_o  = stuck_q && !bypass_i;",
        ("switch_stuck_through", "dead"),
        number=100,
        options=_PAIRS,
    ),
    # The others are looked for by `make soak`.
    Bug(
        "the watchdog waits 256 times too long",
        "rtl/lane_control.sv",
        "trip_at_q <= now_i + 64'(watchdog_i);",
        "trip_at_q <= now_i + 64'(watchdog_i << 8);",
        ("hang",),
    ),
    Bug(
        "the TTL is never decremented",
        "rtl/lane_control.sv",
        "head_data[31:16] - 16'h1;",
        "head_data[31:16];",
        ("dead",),
        number=60,
        options=_EIGHT,
    ),
    Bug(
        "a turned frame gets no new TTL",
        "rtl/link_tx.sv",
        "if (raw[31:16] > longest || (loop_i && !raw[32+FLAG_WRAPPED]))",
        "if (raw[31:16] > longest)",
        ("link_cut",),
    ),
    Bug(
        "a turned frame is counted into again",
        "rtl/stat_unit.sv",
        "count = foreign && !data_q[32+FLAG_WRAPPED];",
        "count = foreign;",
        ("link_cut",),
    ),
    Bug(
        "what the other end says of a link is not heeded when it fails",
        "rtl/link_state.sv",
        "if (!rx_up_i || rx_fault_i) state_d = DOWN;",
        "if (!rx_up_i) state_d = DOWN;",
        ("link_one_way",),
    ),
    Bug(
        "a link is used again before the other end is ready",
        "rtl/link_state.sv",
        "else if (!rx_fault_i) state_d = ACTIVE;",
        "else state_d = ACTIVE;",
        ("link_one_way",),
        number=8,
    ),
    Bug(
        "the guardian mutes no GPU",
        "rtl/guardian.sv",
        "muted_d = !pass_o;",
        "muted_d = 1'b0;",
        ("babble",),
    ),
    Bug(
        "the guardian takes who babbles for quiet, and who is quiet for babbling",
        "rtl/guardian.sv",
        "muted_d = used_q > allowance_i;",
        "muted_d = used_q < allowance_i;",
        ("babble",),
    ),
    Bug(
        "no credits are returned when a link starts afresh",
        "rtl/data_fifo.sv",
        "if (restart_i) owed_d = SLOTS_L - frames_d;",
        "if (restart_i) owed_d = 3'h0;",
        ("link_cut",),
        "working ring",
        number=4,
    ),
    Bug(
        "the link CRC is checked only of frames of one flit",
        "rtl/frame_check.sv",
        "assign bad_o   = cut || marked_o || wrong;",
        "assign bad_o   = cut || marked_o || (wrong && sof_i);",
        ("corrupt",),
    ),
    Bug(
        "the sides of a break are swapped",
        "firmware/census.py",
        "members, CensusVerdict.ARMS, cw.ids[-1], ccw.ids[-1], sequence",
        "members, CensusVerdict.ARMS, ccw.ids[-1], cw.ids[-1], sequence",
        ("link_cut",),
    ),
    Bug(
        "an entry GPU goes on when its lease is over",
        "firmware/member.py",
        "elif self.held_epoch is not None and now >= self.lease_until:",
        "elif self.held_epoch is not None and now >= self.lease_until + self.config.wait_to_restore:",
        ("host_link_cut", "keepalive_loss"),
    ),
    Bug(
        "a lease that has run out keeps the others out for sixteen more",
        "firmware/grantor.py",
        "return self._end(LeaseEnd.LEASE, self.until + self.guard)",
        "return self._end(LeaseEnd.LEASE, self.until + self.guard + 16 * self.lease)",
        ("dead", "host_link_cut"),
    ),
    Bug(
        "records are not checked",
        "firmware/verdict.py",
        "    return _judge_records(frame, node, size, wrapped)",
        "    return Arm(frame.count, tuple(r.id for r in frame.records), wrapped, frame.records)",
        ("skip_count", "double_count", "duplicate_id"),
    ),
    Bug(
        "the link of a slow hop is named from the wrong end",
        "firmware/links.py",
        "            link = record.id if ccw else before.id\n",
        "            link = before.id\n",
        ("link_delay",),
    ),
    Bug(
        "a unit whose time is up is never sent again",
        "emulator/host/work/handing_out.py",
        "if out is not None and out.attempt == attempt:",
        "if out is not None and out.attempt > attempt:",
        ("link_bit_errors",),
        "working ring",
        number=2,
    ),
    Bug(
        "the rest of a range of work is forgotten when shares change",
        "emulator/host/policy/proportional.py",
        "piece = (cut, end) if cut < end else next(pieces, None)",
        "piece = next(pieces, None)",
        ("dead",),
        "two working cards",
        number=6,
    ),
)
