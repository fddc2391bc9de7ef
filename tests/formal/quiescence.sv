// The quiescence contract of gpu_node, whole: when quiescent_o is high after a clock edge, the next edge changes no
// register and no word of any memory, as long as now_i hasn't reached wake_at_o, no input but now_i has changed and no
// flit, credit, mailbox or register write comes in. All link and mailbox outputs depend on registers alone, so they
// stay, too; and with the state quiescent_o stays, so this holds for every edge until then.
//
// Data lines without valid need not stay: that is more than the contract asks for.
module quiescence
  import ringhil_pkg::*;
(
    input logic                        clk_i,
    input logic                        rst_i,
    input logic [                63:0] now_i,
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
    input logic [                31:0] reg_wdata_i,
    input logic [                 7:0] where_i
);
  logic quiescent_o;
  logic [63:0] wake_at_o;
  gpu_node dut (
      .p1_tx_data_o(), .p1_tx_ctl_o(), .p2_tx_data_o(), .p2_tx_ctl_o(), .host_tx_data_o(), .host_tx_ctl_o(),
      .boundary_tx_data_o(), .boundary_tx_ctl_o(), .mtx_ready_o(), .mrx0_data_o(), .mrx0_ctl_o(), .mrx1_data_o(),
      .mrx1_ctl_o(), .mrx2_data_o(), .mrx2_ctl_o(), .mrx3_data_o(), .mrx3_ctl_o(), .reg_rdata_o(), .*
  );

  logic started_q = 1'b0;
  logic [7:0] where_q;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!started_q) where_q <= where_i;
  end
  always_comb assume (started_q || rst_i);

  localparam logic [7:0] EVENTS = 8'h1 << LINK_VALID | 8'h1 << LINK_CREDIT;
  logic [63:0] levels, levels_q;
  logic events, quiet_q, still;
  assign still = started_q && quiet_q;
  assign levels = {card_id_i, node_id_i, ring_size_i, fault_i, p1_rx_ctl_i[LINK_FAULT:LINK_UP],
                   p2_rx_ctl_i[LINK_FAULT:LINK_UP], host_rx_ctl_i[LINK_FAULT:LINK_UP],
                   boundary_rx_ctl_i[LINK_FAULT:LINK_UP]};
  assign events = ((p1_rx_ctl_i | p2_rx_ctl_i | host_rx_ctl_i | boundary_rx_ctl_i) & EVENTS) != 8'h0
      || mtx_valid_i || reg_we_i;
  logic was_reset_q;
  always_ff @(posedge clk_i) begin
    levels_q    <= levels;
    was_reset_q <= rst_i;
    quiet_q     <= started_q && quiescent_o && now_i < wake_at_o && levels == levels_q && !events
        && !rst_i && !was_reset_q;
  end

  // Helpers.
  always_comb
    if (started_q) assert (dut.u_switch.restored_first_q == (dut.u_switch.restored_at_q < dut.u_switch.at_q));
  // Plain work and contexts take turns, so one of both names the cycle to wake at.
  always_comb
    if (started_q) assert (!(dut.u_compute.u_timer.run_q && dut.u_compute.g_contexts.u_turns.run_q));
  // What is looked at first is over first, and who switches has a turn or a unit (proof `turns`).
  always_comb begin
    if (dut.u_compute.g_contexts.u_turns.switching_q)
      assume (dut.u_compute.g_contexts.u_turns.run_q || dut.u_compute.u_timer.run_q);
    if (dut.u_compute.g_contexts.u_turns.run_q && !dut.u_compute.g_contexts.u_turns.first_q)
      assume (dut.u_compute.g_contexts.u_turns.start_q <= dut.u_compute.g_contexts.u_turns.end_q);
    if (dut.u_compute.u_timer.run_q && dut.u_compute.g_contexts.u_turns.switching_q)
      assume (dut.u_compute.g_contexts.u_turns.start_q <= dut.u_compute.u_timer.finish_at_q);
  end
  for (genvar d = 0; d < 2; d++) begin : g_pointers
    logic [7:0] held, read;
    assign held = dut.u_control.g_lane[d].u_lane.wr_q - dut.u_control.g_lane[d].u_lane.base_q;
    assign read = dut.u_control.g_lane[d].u_lane.rd_q - dut.u_control.g_lane[d].u_lane.base_q;
    always_comb if (started_q) assert (held <= 8'd128 && read <= held);
  end
  for (genvar p = 0; p < 4; p++) begin : g_room
    logic [6:0] room;
    assign room = dut.g_rx[p].u_rx.u_fifo.rd_q - dut.g_rx[p].u_rx.u_fifo.wr_q;
    always_comb begin
      // The buffer of the data channel never takes its 128th flit (proof `buffer`, which needs the second line).
      assume (!(dut.g_rx[p].u_rx.u_fifo.push && room == 7'd1));
      if (started_q) assert (!dut.d_pop[p] || dut.d_valid[p]);
    end
  end

  // One comparison a register and memory.
  `include "state.svh"
endmodule
