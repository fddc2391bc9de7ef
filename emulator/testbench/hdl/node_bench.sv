// Top of a bench for one node: the node with all its pins, and time.
//
// `RINGHIL_NODE is the module under test (gpu_node if it isn't defined). Define RINGHIL_NO_QUIESCENCE for a node
// without quiescent_o and wake_at_o. Time counts clock edges from reset, and begins at what leap_i is during reset;
// later leap_i adds to the step of one edge, so that a bench can pass over cycles in which the node says that nothing
// happens. RINGHIL_VIEWS adds decoders of the links for a wave viewer.
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
      .p1_rx_data_i,
      .p1_rx_ctl_i,
      .p1_tx_data_o,
      .p1_tx_ctl_o,
      .p2_rx_data_i,
      .p2_rx_ctl_i,
      .p2_tx_data_o,
      .p2_tx_ctl_o,
      .host_rx_data_i,
      .host_rx_ctl_i,
      .host_tx_data_o,
      .host_tx_ctl_o,
      .boundary_rx_data_i,
      .boundary_rx_ctl_i,
      .boundary_tx_data_o,
      .boundary_tx_ctl_o,
      .mtx_valid_i,
      .mtx_sof_i,
      .mtx_eof_i,
      .mtx_port_i,
      .mtx_data_i,
      .mtx_ready_o,
      .mrx0_data_o,
      .mrx0_ctl_o,
      .mrx1_data_o,
      .mrx1_ctl_o,
      .mrx2_data_o,
      .mrx2_ctl_o,
      .mrx3_data_o,
      .mrx3_ctl_o,
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
    p1_tx_data_o, p1_tx_ctl_o, p2_tx_data_o, p2_tx_ctl_o, host_tx_data_o, host_tx_ctl_o, boundary_tx_data_o,
    boundary_tx_ctl_o, mrx0_data_o, mrx0_ctl_o, mrx1_data_o, mrx1_ctl_o, mrx2_data_o, mrx2_ctl_o, mrx3_data_o,
    mrx3_ctl_o
  };
  // Some registers follow time.
  assign answer = {mtx_ready_o, reg_addr_i >= REG_POWER_STATE && reg_addr_i <= REG_BUSY_HIGH ? 32'h0 : reg_rdata_o};
  assign levels = {
    fault_i, p1_rx_ctl_i[7:6], p2_rx_ctl_i[7:6], host_rx_ctl_i[7:6], boundary_rx_ctl_i[7:6]
  };
  assign comes = mtx_valid_i || reg_we_i || (p1_rx_ctl_i[5:0] | p2_rx_ctl_i[5:0] | host_rx_ctl_i[5:0]
      | boundary_rx_ctl_i[5:0]) != 6'h0;
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
