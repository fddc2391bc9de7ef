// The count of a statistics frame (its third flit) goes up by one at most, two under double_count; not at all in a frame
// that came wrapped, nor in one of another kind. A corrupt GPU is left out.
module ringhil_claim_count
  import ringhil_pkg::*;
(
    `include "claim_ports.svh"
);
  logic came;
  logic [2:0] from;
  logic [63:0] first;
  logic [3:0] begins;
  ringhil_watched u_watched (.*, .came_o(came), .from_o(from), .first_o(first), .begins_o(begins));

  // The third flit as it came; control channel, by ring ports.
  logic [1:0] in_q, knows_q;
  logic [15:0] had_q;
  logic doubles_q, ends_q;
  logic [7:0] ctl;
  assign ctl = rx_ctl_i[from[0]];
  always_ff @(posedge clk_i) begin
    doubles_q <= ready_i && (doubles_q || fault_i[FAULT_DOUBLE_COUNT]);
    if (!ready_i || !came) begin
      in_q    <= 2'd0;
      knows_q <= 2'd0;
    end else if (from < 3'd2 && !(ctl[LINK_UP] && !ctl[LINK_FAULT])) in_q <= 2'd3;
    else if (from < 3'd2 && ctl[LINK_VALID] && !ctl[LINK_DATA]) begin
      if (in_q != 2'd3) in_q <= in_q + 2'd1;
      if (in_q == 2'd2) begin
        knows_q <= ctl[LINK_EOF] ? 2'd0 : 2'd1;
        had_q   <= rx_data_i[from[0]][63:48];
      end
      if (ctl[LINK_EOF]) in_q <= 2'd3;
    end
  end
  logic may;
  assign may = first[63:56] == KIND_STATISTICS && !first[32+FLAG_WRAPPED];

  for (genvar p = 0; p < 2; p++) begin : g_port
    logic [1:0] out_q;  // flits of it that have left; 3: more, or none
    logic [7:0] out;
    logic [15:0] added;
    assign out   = tx_ctl_i[p];
    assign added = tx_data_i[p][63:48] - had_q;
    always_ff @(posedge clk_i) begin
      if (!ready_i || !out[LINK_UP] || out[LINK_FAULT]) out_q <= 2'd3;
      else if (out[LINK_VALID] && !out[LINK_DATA]) begin
        if (out[LINK_SOF]) out_q <= begins[p] ? 2'd1 : 2'd3;
        else if (out_q != 2'd3) out_q <= out_q + 2'd1;
      end
    end
    always_comb begin
      if (ready_i && out[LINK_VALID] && !out[LINK_DATA] && !out[LINK_SOF] && !out[LINK_EOF] && out_q == 2'd2
          && knows_q == 2'd1) begin
        if (may) at_most_one: assert (added <= (doubles_q ? 16'h2 : 16'h1));
        else none: assert (added == 16'h0);
      end
    end
  end
  always_comb if (ready_i) assume (!fault_i[FAULT_CORRUPT]);
endmodule
