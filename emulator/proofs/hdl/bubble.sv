// A data frame enters the ring with two credits: the slot that stays free keeps the ring from deadlock. Nothing but
// frames from the CPU and from another card is played, so whatever leaves by a ring port enters there.
module ringhil_claim_bubble
  import ringhil_pkg::*;
(
    `include "claim_ports.svh"
);
  for (genvar p = 0; p < 2; p++) begin : g_port
    logic [3:0] credits_q;
    logic begins;
    assign begins = tx_ctl_i[p][LINK_VALID] && tx_ctl_i[p][LINK_DATA] && tx_ctl_i[p][LINK_SOF];
    always_ff @(posedge clk_i) begin
      if (!ready_i) credits_q <= 4'(DATA_SLOTS);
      else credits_q <= credits_q - 4'(begins) + 4'(rx_ctl_i[p][LINK_CREDIT]);
    end
    always_comb begin
      if (ready_i && rx_ctl_i[p][LINK_VALID]) assume (!rx_ctl_i[p][LINK_DATA]);
      if (ready_i && begins) two: assert (credits_q >= 4'd2);
    end
  end
endmodule
