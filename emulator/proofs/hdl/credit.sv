// No data frame begins without a credit, and no credit is given without a data frame that was taken. So neither buffer
// overruns.
module ringhil_claim_credit
  import ringhil_pkg::*;
(
    `include "claim_ports.svh"
);
  for (genvar p = 0; p < 4; p++) begin : g_port
    logic [3:0] credits_q, held_q;
    logic begins, comes;
    assign begins = tx_ctl_i[p][LINK_VALID] && tx_ctl_i[p][LINK_DATA] && tx_ctl_i[p][LINK_SOF];
    assign comes  = rx_ctl_i[p][LINK_VALID] && rx_ctl_i[p][LINK_DATA] && rx_ctl_i[p][LINK_SOF];
    always_ff @(posedge clk_i) begin
      if (!ready_i) begin
        credits_q <= 4'(DATA_SLOTS);
        held_q    <= 4'd0;
      end else begin
        credits_q <= credits_q - 4'(begins) + 4'(rx_ctl_i[p][LINK_CREDIT]);
        held_q    <= held_q + 4'(comes) - 4'(tx_ctl_i[p][LINK_CREDIT]);
      end
    end
    always_comb begin
      if (ready_i) begin
        if (begins) spent: assert (credits_q != 4'd0);
        if (tx_ctl_i[p][LINK_CREDIT]) given: assert (held_q != 4'd0);
      end
    end
  end
endmodule
