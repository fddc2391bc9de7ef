// A GPU sends no more control frames of its own than its allowance in a period. The allowance is set to 0 or 1 at the
// beginning, the period stays as it is after reset, longer than what is looked at; no other frames are there.
module ringhil_claim_allowance
  import ringhil_pkg::*;
(
    `include "claim_ports.svh"
);
  logic written_q;
  logic [3:0] sent_q, now;
  always_comb begin
    now = 4'd0;
    for (int p = 0; p < 4; p++)
      now = now + 4'(tx_ctl_i[p][LINK_VALID] && tx_ctl_i[p][LINK_SOF] && !tx_ctl_i[p][LINK_DATA]);
  end
  always_ff @(posedge clk_i) begin
    if (!ready_i) begin
      written_q <= 1'b0;
      sent_q    <= 4'd0;
    end else begin
      written_q <= 1'b1;
      sent_q    <= sent_q + now;
    end
  end
  always_comb begin
    if (ready_i) begin
      if (!written_q) begin
        assume (reg_we_i && reg_addr_i == REG_ALLOWANCE && reg_wdata_i == {31'h0, pick_i[0]});
        // What the GPU begins before it holds was allowed.
        assume (!mtx_valid_i && !fault_i[FAULT_BABBLE]);
      end
      else assume (!reg_we_i);
      too_many: assert (sent_q + now <= {3'h0, pick_i[0]});
    end
  end
endmodule
