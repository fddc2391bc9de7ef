// Quiescence: when quiescent_o is high after a clock edge, the next edge changes no output, but for what the registers of
// the meter say, as long as now_i hasn't reached wake_at_o, no input but now_i has changed and no flit, credit, mailbox
// write or register write comes in. Time may leap while the node rests.
module ringhil_claim_rest
  import ringhil_pkg::*;
(
    `include "claim_ports.svh"
);
  localparam int OUTPUTS = 4 * (64 + 8 + 64 + 4);
  localparam int LEVELS = FAULT_PORT_WIDTH + 8;
  logic [OUTPUTS-1:0] outputs, outputs_q;
  logic [LEVELS-1:0] levels, levels_q;
  logic [31:0] answer, answer_q;  // may follow from a fault at once, as may whether the mailbox is ready
  logic [63:0] wake_q;
  logic [7:0] addr_q;
  logic comes, open_q, ready_q, rested_q, same, still, timed;
  assign outputs = {tx_data_i, tx_ctl_i, mrx_data_i, mrx_ctl_i};
  assign answer  = reg_rdata_i;
  assign timed   = reg_addr_i >= REG_POWER_STATE && reg_addr_i <= REG_BUSY_HIGH;  // a meter goes with the time
  always_comb begin
    levels = LEVELS'(fault_i);
    comes  = mtx_valid_i || reg_we_i;
    for (int p = 0; p < 4; p++) begin
      levels[FAULT_PORT_WIDTH+2*p+:2] = rx_ctl_i[p][LINK_FAULT:LINK_UP];
      if (rx_ctl_i[p][LINK_CREDIT:LINK_VALID] != 6'h0) comes = 1'b1;
    end
  end
  assign same = levels == levels_q;
  always_ff @(posedge clk_i) begin
    {outputs_q, levels_q, answer_q, wake_q, addr_q} <= {outputs, levels, answer, wake_at_i, reg_addr_i};
    open_q   <= mtx_ready_i;
    ready_q  <= ready_i;
    rested_q <= ready_q && ready_i && quiescent_i && !comes && same && now_i < wake_at_i;
  end
  assign still = ready_i && rested_q;
  always_comb begin
    if (still) begin
      moved: assert (outputs == outputs_q);
      if (same) open: assert (mtx_ready_i == open_q);
      if (same && reg_addr_i == addr_q && !timed) answered: assert (answer == answer_q);
      if (same && !comes && now_i < wake_q) woke: assert (quiescent_i && wake_at_i == wake_q);
    end
  end
endmodule
