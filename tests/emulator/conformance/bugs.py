"""Bugs seeded into copies of the RTL: what stands there, what is put in its place, and the rule that must name it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Bug:
    """One wrong line. `rules`: those of which at least one must be broken, the nearest first."""

    name: str
    file: str
    before: str
    after: str
    rules: tuple[str, ...]


BUGS = (
    Bug("counts twice", "stat_unit.sv", "? 16'h2 : 16'h1;", "? 16'h2 : 16'h2;", ("control.count",)),
    Bug(
        "TTL stays the same",
        "lane_control.sv",
        "if (head_sof) hop_data[31:16] = head_data[31:16] - 16'h1;",
        "if (head_sof) hop_data[31:16] = head_data[31:16];",
        ("control.forward", "control.ttl", "control.count"),
    ),
    Bug(
        "link CRC not checked",
        "frame_check.sv",
        "assign bad_o   = cut || marked_o || wrong;",
        "assign bad_o   = cut || marked_o;",
        ("control.damaged",),
    ),
    Bug(
        "the shadow copy is forgotten",
        "lane_control.sv",
        "if (replay_q) rd_d = base_q;",
        "if (replay_q) rd_d = rd_q;",
        ("switch.hang", "switch.dies"),
    ),
    Bug(
        "back too early",
        "bypass_switch.sv",
        "restored_at_d = now_i + 64'(restore_i);",
        "restored_at_d = now_i + 64'(restore_i >> 1);",
        ("switch.restore",),
    ),
    Bug(
        "one frame too many",
        "guardian.sv",
        "used_q < allowance_i);",
        "used_q <= allowance_i);",
        ("mailbox.mute",),
    ),
    Bug(
        "a frame enters the ring with one credit",
        "credit_counter.sv",
        "assign inject_ok_o  = credits_q > 3'h1;",
        "assign inject_ok_o  = credits_q > 3'h0;",
        ("data.bubble", "data.credit"),
    ),
    Bug(
        "all ways in share one stream",
        "work_streams.sv",
        "{3'd0, from_i}",
        "{3'd0, 2'd0}",
        ("compute.streams",),
    ),
    Bug(
        "crossings not counted",
        "data_route.sv",
        "data_i[32+CROSSINGS+:4] + 4'h1;",
        "data_i[32+CROSSINGS+:4];",
        ("crossing.enter", "data.route"),
    ),
    Bug(
        "rests while a timer of a link runs",
        "rest_monitor.sv",
        "{64{!waiting_i[i]}}",
        "{64{!waiting_i[i] || i > 4}}",
        ("quiescence.leap",),
    ),
    Bug(
        "idle data lines keep the last flit",
        "link_tx.sv",
        "      data_q <= 64'h0;\n      ctl_q  <= 8'h0;\n      if (valid)",
        "      ctl_q  <= 8'h0;\n      if (valid)",
        ("link.idle",),
    ),
    Bug(
        "a mark without an inverted CRC",
        "link_tx.sv",
        "~crc_half(crc, edited[63:32]) ^ {32{bad}}}",
        "~crc_half(crc, edited[63:32])}",
        ("link.crc",),
    ),
)
