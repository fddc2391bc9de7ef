"""Broken twins of nodes: one mistake each, and the proof that must find it."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from ringhil.emulator.build.node_rtl import NODE, OURS

THIRD_PARTY = Path(__file__).parents[3] / "examples" / "third-party" / "rtl"
NODES = {"ours": (OURS, NODE), "third party": (THIRD_PARTY, "other_node")}


@dataclass(frozen=True)
class Twin:
    """`before` stands once in `file` of `node`, `after` takes its place; `proof` must be broken by `assertion`, any of
    its own if that is empty, `depth` cycles after reset at the latest."""

    node: str
    file: str
    before: str
    after: str
    proof: str
    assertion: str = ""
    depth: int | None = None

    def make(self, folder: Path) -> tuple[Path, str]:
        """A copy of the node with the mistake: directory and top."""
        rtl, top = NODES[self.node]
        copy = Path(shutil.copytree(rtl, folder / "rtl"))
        text = (copy / self.file).read_text()
        assert text.count(self.before) == 1, f"{self.file}: {self.before}"
        (copy / self.file).write_text(text.replace(self.before, self.after))
        return copy, top


TWINS = (
    Twin("ours", "registers.sv", "exits_q <= wdata_i[15:0];", "exits_q <= wdata_i[16:1];", "registers", "kept"),
    Twin("ours", "rest_monitor.sv", "quiescent_o = level_i == level_q && ", "quiescent_o = ", "rest"),
    Twin(
        "ours",
        "link_tx.sv",
        "      data_q <= 64'h0;\n      ctl_q  <= 8'h0;\n      if (valid)",
        "      ctl_q  <= 8'h0;\n      if (valid)",
        "framing.control",
        "idle",
    ),
    Twin("ours", "stream_arbiter.sv", "eof_o   = eof_i[select]", "eof_o   = sof_i[select]", "framing.data"),
    Twin(
        "ours",
        "lane_control.sv",
        "if (head_sof) hop_data[31:16] = head_data[31:16] - 16'h1;",
        "if (head_sof) hop_data[31:16] = head_data[31:16] - (head_data[31:16] > 16'h4 ? 16'h2 : 16'h1);",
        "ttl.control",
        "one_less",
    ),
    Twin("ours", "data_route.sv", "else if (!expired) to[FROM == PORT_P2", "else to[FROM == PORT_P2", "ttl.data"),
    Twin(
        "ours",
        "lane_control.sv",
        "handed_q && (k_last_i || kept >= HALF)",
        "handed_q && kept >= HALF",
        "once.control",
        "doubled",
    ),
    Twin(
        "ours",
        "data_route.sv",
        "end else data_o[31:16] = data_i[31:16] - 16'h1;",
        "end else data_o[15:0] = data_i[15:0] - 16'h1;",
        "once.data",
        "made_up",
    ),
    Twin("ours", "stat_unit.sv", "? 16'h2 : 16'h1;", "? 16'h2 : 16'h2;", "count", "at_most_one"),
    Twin(
        "ours",
        "stat_unit.sv",
        "if (index_q == COUNTS && count) begin",
        "if (index_q == EPOCH && count) begin",
        "passing.control",
        "payload",
    ),
    Twin(
        "ours",
        "data_route.sv",
        "end else data_o[31:16] = data_i[31:16] - 16'h1;",
        "end else data_o[35:16] = {1'b0, data_i[34:32], data_i[31:16] - 16'h1};",
        "passing.data",
        "flags_lost",
    ),
    Twin(
        "ours",
        "credit_counter.sv",
        "if (rst_i) credits_q <= 3'(SLOTS);",
        "if (rst_i) credits_q <= 3'(SLOTS + 1);",
        "credit",
        "spent",
    ),
    Twin(
        "ours",
        "credit_counter.sv",
        "inject_ok_o  = credits_q > 3'h1;",
        "inject_ok_o  = credits_q > 3'h0;",
        "bubble",
        "two",
    ),
    Twin("ours", "guardian.sv", "used_q < allowance_i);", "used_q <= allowance_i);", "allowance", "too_many"),
    Twin(
        "third party",
        "other_lane.sv",
        "c_data_i[31:16] - 16'd1, c_data_i[15:0]",
        "c_data_i[31:16] - (c_data_i[31:16] > 16'd4 ? 16'd2 : 16'd1), c_data_i[15:0]",
        "ttl.control",
        "one_less",
    ),
    Twin("third party", "other_lane.sv", "? 16'd2 : 16'd1);", "? 16'd2 : 16'd2);", "count", "at_most_one"),
    Twin(
        "third party",
        "other_lane.sv",
        "else if (with_q) shown[15] = 1'b1;",
        "else shown[15] = 1'b1;",
        "passing.control",
        "payload",
    ),
    Twin("third party", "other_port.sv", "owed_q   <= 2'd0;", "owed_q   <= 2'd1;", "credit", "given"),
    Twin(
        "third party",
        "other_mailbox.sv",
        "assign over  = (fresh ? 32'd0 : sent_q) >= allowance_i;",
        "assign over  = (fresh ? 32'd0 : sent_q) > allowance_i;",
        "allowance",
        "too_many",
    ),
    Twin(
        "third party",
        "other_router.sv",
        "if (d < 2 && credits < 2'd2) may[4:2]",
        "if (d < 2 && credits < 2'd1) may[4:2]",
        "bubble",
        "two",
    ),
    Twin(
        "third party",
        "other_port.sv",
        "if (up_o) {tx_data_o, tx_ctl_o}",
        "{tx_data_o, tx_ctl_o}",
        "framing.control",
        "unused",
    ),
    Twin("third party", "other_node.sv", "reg_addr_i == 8'(r))", "reg_addr_i[2:0] == 3'(r))", "registers", "kept"),
)
