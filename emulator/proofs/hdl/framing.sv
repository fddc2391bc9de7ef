// Flits leave in whole frames, one at a time on each channel; lines are zero while nothing is sent; nothing is sent
// without carrier, nor while the node says by its remote-fault mark that it doesn't use the link.
module ringhil_claim_framing
  import ringhil_pkg::*;
(
    `include "claim_ports.svh"
);
  for (genvar p = 0; p < 4; p++) begin : g_port
    logic [7:0] ctl;
    logic [1:0] open_q, rest_q;  // a frame is open; the rest of one that was cut may come, which no receiver takes
    logic valid, ch, used;
    assign ctl   = tx_ctl_i[p];
    assign valid = ctl[LINK_VALID];
    assign ch    = ctl[LINK_DATA];
    assign used  = ctl[LINK_UP] && !ctl[LINK_FAULT];
    always_ff @(posedge clk_i) begin
      if (!ready_i) begin
        open_q <= 2'b00;
        rest_q <= 2'b00;
      end else if (!used) begin
        rest_q <= 2'b11;
        open_q <= 2'b00;
      end else if (valid) begin
        open_q[ch] <= !ctl[LINK_EOF] && (ctl[LINK_SOF] || open_q[ch]);
        if (ctl[LINK_SOF] || ctl[LINK_EOF]) rest_q[ch] <= 1'b0;
      end
    end
    always_comb begin
      if (ready_i) begin
        if (!valid) idle: assert (tx_data_i[p] == 64'h0 && ctl[LINK_ERR:LINK_DATA] == 4'h0);
        if (!used) unused: assert (!valid && !ctl[LINK_CREDIT]);
        if (valid && used) begin
          if (ctl[LINK_SOF]) nested: assert (!open_q[ch]);
          else outside: assert (open_q[ch] || rest_q[ch]);
          single: assert (!(ctl[LINK_SOF] && ctl[LINK_EOF]));
          mark: assert (ctl[LINK_EOF] || !ctl[LINK_ERR]);
        end
      end
    end
  end
endmodule
