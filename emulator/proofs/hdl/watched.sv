// One frame, any one, picked by kind, card and home, which no hop changes: where it came in, and with what first flit.
// It is assumed to come once. Frames that a node makes itself are never picked.
module ringhil_watched
  import ringhil_pkg::*;
(
    `include "claim_ports.svh"
    ,
    output logic        came_o,    // its first flit has come, up to this cycle
    output logic [ 2:0] from_o,    // by which link; 4: from the firmware
    output logic [63:0] first_o,
    output logic [ 3:0] begins_o   // it begins to leave
);
  function automatic logic match(input logic [63:0] flit, input logic [31:0] key);
    match = {flit[63:48], flit[15:0]} == key;
  endfunction

  logic [4:0] comes;
  logic came_q;
  logic [2:0] from_q;
  logic [63:0] first_q;
  always_comb begin
    for (int p = 0; p < 4; p++) begin
      comes[p] = rx_ctl_i[p][LINK_VALID] && rx_ctl_i[p][LINK_SOF] && match(rx_data_i[p], pick_i);
      begins_o[p] = tx_ctl_i[p][LINK_VALID] && tx_ctl_i[p][LINK_SOF] && match(tx_data_i[p], pick_i);
    end
    comes[4] = mtx_valid_i && mtx_sof_i && match(mtx_data_i, pick_i);
    came_o   = came_q || comes != 5'h0;
    from_o   = from_q;
    first_o  = first_q;
    if (!came_q) begin
      from_o  = comes[4] ? 3'd4 : comes[3] ? 3'd3 : comes[2] ? 3'd2 : comes[1] ? 3'd1 : 3'd0;
      first_o = comes[4] ? mtx_data_i : rx_data_i[from_o[1:0]];
    end
  end
  always_ff @(posedge clk_i) begin
    came_q  <= ready_i && came_o;
    from_q  <= from_o;
    first_q <= first_o;
  end
  always_comb begin
    if (ready_i) assume (comes == 5'h0 || (!came_q && (comes & (comes - 5'h1)) == 5'h0));
    // Babbled frames, results and refusals.
    if (ready_i) assume (pick_i[31:24] != KIND_RESULT && pick_i[31:24] != KIND_ACKNOWLEDGEMENT);
    if (ready_i) assume (!fault_i[FAULT_BABBLE]);
  end
endmodule
