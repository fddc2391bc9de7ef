// Top of a bench for one node: the node with all its pins, and time.
//
// `RINGHIL_NODE is the module under test (gpu_node if it isn't defined). Define RINGHIL_NO_QUIESCENCE for a node
// without quiescent_o and wake_at_o. Time counts clock edges from reset, and begins at what leap_i is during reset;
// later leap_i adds to the step of one edge, so that a bench can pass over cycles in which the node says that nothing
// happens. RINGHIL_VIEWS adds decoders of the links for a wave viewer.
//
// While repeat_i is high, what comes in by the links is not what the kit drives but a script: cycles of all four links
// written before (script_we_i), played again and again, one word a cycle up to script_last_i; each data frame that leaves
// is given its credit back. The kit then sees lines at rest, so it costs nothing: what it can look at is what the node
// counts. With script_rests_i nothing comes, and what is
// under way comes to its end.
//
// moved_o says what changed at the last clock edge although the node rested and nothing came in: bit 0 a link or a
// frame for the firmware, 1 mtx_ready_o or the register that is being read, 2 what the node says of its rest.
`ifndef RINGHIL_NODE
`define RINGHIL_NODE gpu_node
`endif
module node_bench
  import ringhil_pkg::*;
(
    input  logic                        clk_i,
    input  logic                        rst_i,
    input  logic [                63:0] leap_i,
    output logic [                63:0] now_o,
    input  logic                        repeat_i,
    input  logic                        script_we_i,
    input  logic [                 5:0] script_at_i,
    input  logic [               287:0] script_i,       // by link from bit 0: 64 bits of data, 8 of control
    input  logic [                 5:0] script_last_i,
    input  logic                        script_rests_i,
    input  logic [                 7:0] card_id_i,
    input  logic [                15:0] node_id_i,
    input  logic [                15:0] ring_size_i,
    input  logic [FAULT_PORT_WIDTH-1:0] fault_i,
    input  logic [                63:0] p1_rx_data_i,
    input  logic [                 7:0] p1_rx_ctl_i,
    output logic [                63:0] p1_tx_data_o,
    output logic [                 7:0] p1_tx_ctl_o,
    input  logic [                63:0] p2_rx_data_i,
    input  logic [                 7:0] p2_rx_ctl_i,
    output logic [                63:0] p2_tx_data_o,
    output logic [                 7:0] p2_tx_ctl_o,
    input  logic [                63:0] host_rx_data_i,
    input  logic [                 7:0] host_rx_ctl_i,
    output logic [                63:0] host_tx_data_o,
    output logic [                 7:0] host_tx_ctl_o,
    input  logic [                63:0] boundary_rx_data_i,
    input  logic [                 7:0] boundary_rx_ctl_i,
    output logic [                63:0] boundary_tx_data_o,
    output logic [                 7:0] boundary_tx_ctl_o,
    input  logic                        mtx_valid_i,
    input  logic                        mtx_sof_i,
    input  logic                        mtx_eof_i,
    input  logic [                 1:0] mtx_port_i,
    input  logic [                63:0] mtx_data_i,
    output logic                        mtx_ready_o,
    output logic [                63:0] mrx0_data_o,
    output logic [                 3:0] mrx0_ctl_o,
    output logic [                63:0] mrx1_data_o,
    output logic [                 3:0] mrx1_ctl_o,
    output logic [                63:0] mrx2_data_o,
    output logic [                 3:0] mrx2_ctl_o,
    output logic [                63:0] mrx3_data_o,
    output logic [                 3:0] mrx3_ctl_o,
    input  logic                        reg_we_i,
    input  logic [                 7:0] reg_addr_i,
    input  logic [                31:0] reg_wdata_i,
    output logic [                31:0] reg_rdata_o,
    output logic                        quiescent_o,
    output logic [                63:0] wake_at_o,
    output logic [                 2:0] moved_o
);
  logic [63:0] now_q;
  assign now_o = now_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) now_q <= leap_i;
    else now_q <= now_q + 64'h1 + leap_i;
  end

  // ------------------------------------------------------------------------------------------------- the script
  logic [287:0] script_q[64];
  logic [287:0] word;
  logic [5:0] place_q;
  logic [3:0] credit_q;
  logic [7:0] rx_ctl[4], tx_ctl[4];
  logic [63:0] rx_data[4], tx_data[4];
  logic [3:0] mrx_ctl[4];
  logic [63:0] mrx_data[4];
  localparam logic [7:0] LEVELS = (8'h1 << LINK_UP) | (8'h1 << LINK_FAULT);
  assign word = script_rests_i ? 288'h0 : script_q[place_q];

  always_ff @(posedge clk_i) begin
    if (script_we_i) script_q[script_at_i] <= script_i;
    place_q <= rst_i || !repeat_i || place_q == script_last_i ? 6'h0 : place_q + 6'h1;
    for (int i = 0; i < 4; i++)
      credit_q[i] <= repeat_i && tx_ctl[i][LINK_VALID] && tx_ctl[i][LINK_DATA] && tx_ctl[i][LINK_EOF];
  end

  assign rx_data[0] = repeat_i ? word[0+:64] : p1_rx_data_i;
  assign rx_ctl[0] = repeat_i ? word[64+:8] | {2'b00, credit_q[0], 5'h0} | (p1_rx_ctl_i & LEVELS) : p1_rx_ctl_i;
  assign p1_tx_data_o = repeat_i ? 64'h0 : tx_data[0];
  assign p1_tx_ctl_o = repeat_i ? tx_ctl[0] & LEVELS : tx_ctl[0];
  assign mrx0_data_o = repeat_i ? 64'h0 : mrx_data[0];
  assign mrx0_ctl_o = repeat_i ? 4'h0 : mrx_ctl[0];
  assign rx_data[1] = repeat_i ? word[72+:64] : p2_rx_data_i;
  assign rx_ctl[1] = repeat_i ? word[136+:8] | {2'b00, credit_q[1], 5'h0} | (p2_rx_ctl_i & LEVELS) : p2_rx_ctl_i;
  assign p2_tx_data_o = repeat_i ? 64'h0 : tx_data[1];
  assign p2_tx_ctl_o = repeat_i ? tx_ctl[1] & LEVELS : tx_ctl[1];
  assign mrx1_data_o = repeat_i ? 64'h0 : mrx_data[1];
  assign mrx1_ctl_o = repeat_i ? 4'h0 : mrx_ctl[1];
  assign rx_data[2] = repeat_i ? word[144+:64] : host_rx_data_i;
  assign rx_ctl[2] = repeat_i ? word[208+:8] | {2'b00, credit_q[2], 5'h0} | (host_rx_ctl_i & LEVELS) : host_rx_ctl_i;
  assign host_tx_data_o = repeat_i ? 64'h0 : tx_data[2];
  assign host_tx_ctl_o = repeat_i ? tx_ctl[2] & LEVELS : tx_ctl[2];
  assign mrx2_data_o = repeat_i ? 64'h0 : mrx_data[2];
  assign mrx2_ctl_o = repeat_i ? 4'h0 : mrx_ctl[2];
  assign rx_data[3] = repeat_i ? word[216+:64] : boundary_rx_data_i;
  assign rx_ctl[3] = repeat_i ? word[280+:8] | {2'b00, credit_q[3], 5'h0} | (boundary_rx_ctl_i & LEVELS) : boundary_rx_ctl_i;
  assign boundary_tx_data_o = repeat_i ? 64'h0 : tx_data[3];
  assign boundary_tx_ctl_o = repeat_i ? tx_ctl[3] & LEVELS : tx_ctl[3];
  assign mrx3_data_o = repeat_i ? 64'h0 : mrx_data[3];
  assign mrx3_ctl_o = repeat_i ? 4'h0 : mrx_ctl[3];

  `RINGHIL_NODE u_node (
`ifndef RINGHIL_NO_QUIESCENCE
      .quiescent_o,
      .wake_at_o,
`endif
      .clk_i,
      .rst_i,
      .now_i(now_q),
      .card_id_i,
      .node_id_i,
      .ring_size_i,
      .fault_i,
      .p1_rx_data_i(rx_data[0]),
      .p1_rx_ctl_i(rx_ctl[0]),
      .p1_tx_data_o(tx_data[0]),
      .p1_tx_ctl_o(tx_ctl[0]),
      .p2_rx_data_i(rx_data[1]),
      .p2_rx_ctl_i(rx_ctl[1]),
      .p2_tx_data_o(tx_data[1]),
      .p2_tx_ctl_o(tx_ctl[1]),
      .host_rx_data_i(rx_data[2]),
      .host_rx_ctl_i(rx_ctl[2]),
      .host_tx_data_o(tx_data[2]),
      .host_tx_ctl_o(tx_ctl[2]),
      .boundary_rx_data_i(rx_data[3]),
      .boundary_rx_ctl_i(rx_ctl[3]),
      .boundary_tx_data_o(tx_data[3]),
      .boundary_tx_ctl_o(tx_ctl[3]),
      .mtx_valid_i,
      .mtx_sof_i,
      .mtx_eof_i,
      .mtx_port_i,
      .mtx_data_i,
      .mtx_ready_o,
      .mrx0_data_o(mrx_data[0]),
      .mrx0_ctl_o(mrx_ctl[0]),
      .mrx1_data_o(mrx_data[1]),
      .mrx1_ctl_o(mrx_ctl[1]),
      .mrx2_data_o(mrx_data[2]),
      .mrx2_ctl_o(mrx_ctl[2]),
      .mrx3_data_o(mrx_data[3]),
      .mrx3_ctl_o(mrx_ctl[3]),
      .reg_we_i,
      .reg_addr_i,
      .reg_wdata_i,
      .reg_rdata_o
  );

`ifdef RINGHIL_NO_QUIESCENCE
  assign quiescent_o = 1'b0;
  assign wake_at_o   = 64'h0;
`endif

  // The promise of a node that rests, looked at in each cycle. A level (fault, carrier, mark) that differs from what it
  // was at the edge before frees the node from it; so does anything that comes in.
  localparam int OUTPUTS = 4 * (64 + 8) + 4 * (64 + 4);
  logic [OUTPUTS-1:0] outputs, outputs_q;
  logic [FAULT_PORT_WIDTH+7:0] levels, levels_q;
  logic [63:0] wake_q;
  logic [32:0] answer, answer_q;  // these may follow from a fault at once
  logic [7:0] addr_q;
  logic comes, rested_q, same;
  assign outputs = {
    tx_data[0], tx_ctl[0], tx_data[1], tx_ctl[1], tx_data[2], tx_ctl[2], tx_data[3], tx_ctl[3], mrx_data[0], mrx_ctl[0],
    mrx_data[1], mrx_ctl[1], mrx_data[2], mrx_ctl[2], mrx_data[3], mrx_ctl[3]
  };
  // Some registers follow time.
  assign answer = {mtx_ready_o, reg_addr_i >= REG_POWER_STATE && reg_addr_i <= REG_BUSY_HIGH ? 32'h0 : reg_rdata_o};
  assign levels = {
    fault_i, rx_ctl[0][7:6], rx_ctl[1][7:6], rx_ctl[2][7:6], rx_ctl[3][7:6]
  };
  assign comes = mtx_valid_i || reg_we_i || (rx_ctl[0][5:0] | rx_ctl[1][5:0] | rx_ctl[2][5:0] | rx_ctl[3][5:0]) != 6'h0;
  assign same = levels == levels_q;

  always_ff @(posedge clk_i) begin
    outputs_q <= outputs;
    levels_q  <= levels;
    wake_q    <= wake_at_o;
    answer_q  <= answer;
    addr_q    <= reg_addr_i;
    if (rst_i) begin
      rested_q <= 1'b0;
      moved_o  <= 3'b000;
    end else begin
      rested_q   <= quiescent_o && !comes && same && now_q < wake_at_o;
      moved_o[0] <= rested_q && outputs != outputs_q;
      moved_o[1] <= rested_q && same && reg_addr_i == addr_q && answer != answer_q;
      moved_o[2] <= rested_q && same && !comes && now_q < wake_q && (!quiescent_o || wake_at_o != wake_q);
    end
  end

`ifdef RINGHIL_VIEWS
  ring_view u_view_p1_rx (.clk_i, .data_i(p1_rx_data_i), .ctl_i(p1_rx_ctl_i));
  ring_view u_view_p1_tx (.clk_i, .data_i(p1_tx_data_o), .ctl_i(p1_tx_ctl_o));
  ring_view u_view_p2_rx (.clk_i, .data_i(p2_rx_data_i), .ctl_i(p2_rx_ctl_i));
  ring_view u_view_p2_tx (.clk_i, .data_i(p2_tx_data_o), .ctl_i(p2_tx_ctl_o));
  ring_view u_view_host_rx (.clk_i, .data_i(host_rx_data_i), .ctl_i(host_rx_ctl_i));
  ring_view u_view_host_tx (.clk_i, .data_i(host_tx_data_o), .ctl_i(host_tx_ctl_o));
  ring_view u_view_boundary_rx (.clk_i, .data_i(boundary_rx_data_i), .ctl_i(boundary_rx_ctl_i));
  ring_view u_view_boundary_tx (.clk_i, .data_i(boundary_tx_data_o), .ctl_i(boundary_tx_ctl_o));
`endif
endmodule
