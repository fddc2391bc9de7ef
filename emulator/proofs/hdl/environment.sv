// A node of anybody's with an environment that keeps the contract of its ports, and else does what it likes. The claim
// about the node is one of the modules ringhil_claim_*; all of them have the same ports.
//
// `RINGHIL_NODE is the module under proof, `RINGHIL_CLAIM the claim. RINGHIL_NO_QUIESCENCE: the node has no quiescent_o
// and wake_at_o. What a claim leaves out is tied off, which makes the proof shorter: RINGHIL_NO_DATA, _NO_CONTROL (into
// the links), _NO_MAIL, _NO_WRITES, _NO_FAULTS, _NO_CUTS. RINGHIL_LEAPS: time may leap while the node rests.
// RINGHIL_SETTINGS: no register beyond the settings is looked at. RINGHIL_STATE: state.svh compares all state of `dut`.
//
// Reset for three cycles, with idle links, as in the bench of `ringhil rtl check`.
module ringhil_environment
  import ringhil_pkg::*;
(
    input logic                        clk_i,
    input logic [                63:0] start_i,   // time
    input logic [                63:0] leap_i,
    input logic [                31:0] pick_i,    // which one is watched
    input logic [                 7:0] where_i,   // any place of a memory
    input logic [                 7:0] card_id_i,
    input logic [                15:0] node_id_i,
    input logic [                15:0] ring_size_i,
    input logic [FAULT_PORT_WIDTH-1:0] fault_i,
    input logic [                63:0] p1_rx_data_i,
    input logic [                 7:0] p1_rx_ctl_i,
    input logic [                63:0] p2_rx_data_i,
    input logic [                 7:0] p2_rx_ctl_i,
    input logic [                63:0] host_rx_data_i,
    input logic [                 7:0] host_rx_ctl_i,
    input logic [                63:0] boundary_rx_data_i,
    input logic [                 7:0] boundary_rx_ctl_i,
    input logic                        mtx_valid_i,
    input logic                        mtx_sof_i,
    input logic                        mtx_eof_i,
    input logic [                 1:0] mtx_port_i,
    input logic [                63:0] mtx_data_i,
    input logic                        reg_we_i,
    input logic [                 7:0] reg_addr_i,
    input logic [                31:0] reg_wdata_i
);
  // ------------------------------------------------------------------------------------------- reset, time, straps
  logic [1:0] age_q = 2'd0;
  logic ready, rst_i, quiescent_o;
  logic [63:0] now_q, wake_at_o, start, leap;
  logic [31:0] pick_q;
  logic [7:0] where_q, card_q;
  logic [15:0] node_q, size_q;
  assign ready = age_q == 2'd3;
  assign rst_i = !ready;
`ifdef RINGHIL_LEAPS
  assign start = start_i;
`else
  assign start = 64'h0;
`endif
  assign leap  = ready && quiescent_o ? leap_i : 64'h0;
  always_ff @(posedge clk_i) begin
    if (!ready) age_q <= age_q + 2'd1;
    if (age_q == 2'd0) begin
      {card_q, node_q, size_q, pick_q, where_q} <= {card_id_i, node_id_i, ring_size_i, pick_i, where_i};
      now_q <= start;
    end
`ifdef RINGHIL_LEAPS
    else now_q <= now_q + 64'd1 + leap;
`else
    else now_q <= now_q + 64'd1;
`endif
  end
  always_comb begin
    assume (!now_q[63] && !start[63] && !leap_i[63]);
`ifdef RINGHIL_LEAPS
    if (leap != 64'h0) assume (now_q + leap < wake_at_o);
`endif
    if (age_q == 2'd0) assume (ring_size_i >= 16'd2 && ring_size_i <= 16'd1024 && node_id_i < ring_size_i);
    else assume (size_q >= 16'd2 && size_q <= 16'd1024 && node_q < size_q);
  end

  // ------------------------------------------------------------------------------------------------- what comes in
  logic [3:0][63:0] rx_data, tx_data, mrx_data;
  logic [3:0][7:0] rx_ctl, tx_ctl;
  logic [3:0][3:0] mrx_ctl;
  logic [FAULT_PORT_WIDTH-1:0] fault;
  logic mtx_valid, mtx_ready, reg_we;
  logic [7:0] reg_addr;
  logic [31:0] reg_rdata;

`ifdef RINGHIL_NO_FAULTS
  assign fault = '0;
`else
  assign fault = ready ? fault_i : '0;
`endif
`ifdef RINGHIL_NO_MAIL
  assign mtx_valid = 1'b0;
`else
  assign mtx_valid = ready && mtx_ready && mtx_valid_i;
`endif
`ifdef RINGHIL_NO_WRITES
  assign reg_we = 1'b0;
`else
  assign reg_we = ready && reg_we_i;
`endif
`ifdef RINGHIL_SETTINGS
  assign reg_addr = {4'h0, reg_addr_i[3:0]};
`else
  assign reg_addr = reg_addr_i;
`endif

  ringhil_neighbour u_neighbour[3:0] (
      .clk_i,
      .ready_i (ready),
      .data_i  ({boundary_rx_data_i, host_rx_data_i, p2_rx_data_i, p1_rx_data_i}),
      .ctl_i   ({boundary_rx_ctl_i, host_rx_ctl_i, p2_rx_ctl_i, p1_rx_ctl_i}),
      .tx_ctl_i(tx_ctl),
      .data_o  (rx_data),
      .ctl_o   (rx_ctl)
  );

  // Firmware writes frames of two flits at least, one after the other, each for one port.
  logic writing_q;
  logic [1:0] port_q;
  always_ff @(posedge clk_i) begin
    if (!ready) writing_q <= 1'b0;
    else if (mtx_valid) writing_q <= !mtx_eof_i;
    if (mtx_valid) port_q <= mtx_port_i;
  end
  always_comb begin
    if (mtx_valid) begin
      assume (mtx_sof_i == !writing_q && !(mtx_sof_i && mtx_eof_i));
      if (writing_q) assume (mtx_port_i == port_q);
    end
  end

  // ------------------------------------------------------------------------------------------------------ the node
  `RINGHIL_NODE dut (
`ifndef RINGHIL_NO_QUIESCENCE
      .quiescent_o,
      .wake_at_o,
`endif
      .clk_i,
      .rst_i,
      .now_i(now_q),
      .card_id_i(age_q == 2'd0 ? card_id_i : card_q),
      .node_id_i(age_q == 2'd0 ? node_id_i : node_q),
      .ring_size_i(age_q == 2'd0 ? ring_size_i : size_q),
      .fault_i(fault),
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
      .mtx_valid_i(mtx_valid),
      .mtx_sof_i(mtx_sof_i && mtx_valid),
      .mtx_eof_i(mtx_eof_i && mtx_valid),
      .mtx_port_i(mtx_port_i & {2{mtx_valid}}),
      .mtx_data_i(mtx_data_i & {64{mtx_valid}}),
      .mtx_ready_o(mtx_ready),
      .mrx0_data_o(mrx_data[0]),
      .mrx0_ctl_o(mrx_ctl[0]),
      .mrx1_data_o(mrx_data[1]),
      .mrx1_ctl_o(mrx_ctl[1]),
      .mrx2_data_o(mrx_data[2]),
      .mrx2_ctl_o(mrx_ctl[2]),
      .mrx3_data_o(mrx_data[3]),
      .mrx3_ctl_o(mrx_ctl[3]),
      .reg_we_i(reg_we),
      .reg_addr_i(reg_addr),
      .reg_wdata_i(reg_wdata_i),
      .reg_rdata_o(reg_rdata)
  );
`ifdef RINGHIL_NO_QUIESCENCE
  assign quiescent_o = 1'b0;
  assign wake_at_o   = 64'h0;
`endif

  `RINGHIL_CLAIM claim (
      .clk_i,
      .ready_i(ready),
      .now_i(now_q),
      .pick_i(pick_q),
      .where_i(where_q),
      .card_id_i(card_q),
      .node_id_i(node_q),
      .ring_size_i(size_q),
      .fault_i(fault),
      .rx_data_i(rx_data),
      .rx_ctl_i(rx_ctl),
      .tx_data_i(tx_data),
      .tx_ctl_i(tx_ctl),
      .mtx_valid_i(mtx_valid),
      .mtx_sof_i,
      .mtx_eof_i,
      .mtx_data_i,
      .mtx_ready_i(mtx_ready),
      .mrx_data_i(mrx_data),
      .mrx_ctl_i(mrx_ctl),
      .reg_we_i(reg_we),
      .reg_addr_i(reg_addr),
      .reg_wdata_i,
      .reg_rdata_i(reg_rdata),
      .quiescent_i(quiescent_o),
      .wake_at_i(wake_at_o)
  );

`ifdef RINGHIL_STATE
  // The state of the node, one comparison a register and memory: written by the prover.
  logic still;
  assign still = claim.still;
  `include "state.svh"
`endif
endmodule
