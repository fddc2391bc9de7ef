// One GPU of a card with its bypass switch: two ring ports, one port to the CPU, one to another card, a mailbox
// to its firmware.
//
// Clockwise frames enter port 1 and leave port 2, counter-clockwise frames the other way. All link and mailbox
// outputs follow from registers alone, on the bypass path too, so nodes can be simulated apart from each other and no ring
// of bypassed nodes is a combinational loop.
//
// Quiescence contract: when quiescent_o is high after a clock edge, then until now_i reaches wake_at_o a clock
// edge changes no state and no output, as long as no input but now_i differs from what it was at that edge and
// no flit, credit, mailbox or register write comes in. Time is an input; there is no free-running counter.
//
// Straps (card_id_i, node_id_i, ring_size_i) stay constant after reset. reg_rdata_o is combinational from
// reg_addr_i and takes no part in the contract.
module gpu_node
  import ringhil_pkg::*;
(
    input  logic                        clk_i,
    input  logic                        rst_i,
    input  logic [                63:0] now_i,
    input  logic [                 7:0] card_id_i,
    input  logic [                15:0] node_id_i,
    input  logic [                15:0] ring_size_i,
    input  logic [FAULT_PORT_WIDTH-1:0] fault_i,
    // Ring port 1, ring port 2, port to the CPU, boundary port (to another card).
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
    // Mailbox: frames from the firmware (mtx), frames to it (mrx, from port 1, port 2, the CPU, the other card).
    input  logic                        mtx_valid_i,
    input  logic                        mtx_sof_i,
    input  logic                        mtx_eof_i,
    input  logic [                 1:0] mtx_port_i,
    input  logic [                63:0] mtx_data_i,
    output logic                        mtx_ready_o,
    output logic [                63:0] mrx0_data_o,
    output logic [                 3:0] mrx0_ctl_o,      // bad, eof, sof, valid
    output logic [                63:0] mrx1_data_o,
    output logic [                 3:0] mrx1_ctl_o,
    output logic [                63:0] mrx2_data_o,
    output logic [                 3:0] mrx2_ctl_o,
    output logic [                63:0] mrx3_data_o,
    output logic [                 3:0] mrx3_ctl_o,
    // Registers.
    input  logic                        reg_we_i,
    input  logic [                 7:0] reg_addr_i,
    input  logic [                31:0] reg_wdata_i,
    output logic [                31:0] reg_rdata_o,
    output logic                        quiescent_o,
    output logic [                63:0] wake_at_o
);
  localparam int CW = 0;  // lane from port 1 to port 2
  localparam int CCW = 1;

  logic [31:0] control, watchdog, heartbeat, allowance, allowance_period, link_restore;
  logic [15:0] weight, crossings, exits;
  logic [ 7:0] gpu_type, boundary_peer;
  logic [31:0] compute_setup, compute_per_flit, gpu_restore;
  logic [ 7:0] rx_bad_count[2];
  logic entry, boundary;
  assign entry = control[CONTROL_ENTRY];
  assign boundary = control[CONTROL_BOUNDARY];

  // The number that the GPU takes for its own.
  logic [15:0] my_id;
  assign my_id = !fault_i[FAULT_DUPLICATE_ID] ? node_id_i : node_id_i == 16'h0 ? ring_size_i - 16'h1 : node_id_i - 16'h1;

  // ---------------------------------------------------------------------------------------- state of the GPU
  logic frozen, pong_q, ping, bypass, tripped, healthy, restoring, trips, switch_waiting, muted, mute, out_of_ring;
  logic stuck, silent, position_waiting, move;
  logic [63:0] switch_wake, mute_wake, position_wake;
  logic [ 5:0] switch_level;
  logic [1:0] bypassed, switching, lane_trip;
  assign frozen = fault_i[FAULT_DEAD] || fault_i[FAULT_HANG];
  assign out_of_ring = bypassed != 2'b00;

  always_ff @(posedge clk_i) begin
    if (rst_i) pong_q <= 1'b0;
    else if (!frozen) pong_q <= ping;
  end

  bypass_switch u_switch (
      .clk_i,
      .rst_i,
      .now_i,
      .heartbeat_i(heartbeat),
      .watchdog_i(watchdog),
      .restore_i(gpu_restore),
      .healthy_i(!fault_i[FAULT_DEAD]),
      .muted_i(muted),
      .trip_i(lane_trip != 2'b00),
      .pong_i(pong_q),
      .ping_o(ping),
      .bypass_o(bypass),
      .tripped_o(tripped),
      .healthy_o(healthy),
      .restoring_o(restoring),
      .trips_o(trips),
      .waiting_o(switch_waiting),
      .wake_at_o(switch_wake),
      .level_o(switch_level)
  );

  // Where the switch is told to stand, and where a broken one does.
  assign move = fault_i[FAULT_SWITCH_STUCK_BYPASS] || (bypass && !fault_i[FAULT_SWITCH_STUCK_THROUGH]);

  switch_position u_position (
      .clk_i,
      .rst_i,
      .now_i,
      .watchdog_i(watchdog),
      .bypass_i(bypass),
      .bypassed_i(bypassed),
      .stuck_o(stuck),
      .silent_o(silent),
      .waiting_o(position_waiting),
      .wake_at_o(position_wake)
  );

  // --------------------------------------------------------------------------------------------- receivers
  logic [63:0] rx_data[4], tx_data[4], c_data[4], d_data[4], port_wake[4];
  logic [7:0] rx_ctl[4], tx_ctl[4];
  logic [3:0] c_valid, c_sof, c_eof, c_bad, c_marked;
  logic [3:0] d_pop, d_valid, d_sof, d_eof, d_bad;
  logic [3:0] start, transit_ok, inject_ok, credit, fault, active, loops, down, port_waiting, port_busy;
  logic unused_ok;
  assign unused_ok = &{c_marked[3:2], inject_ok[3:2], down[3:2], loops[3:2], start, control[31:5]};
  logic [19:0] port_level;

  assign rx_data[0] = p1_rx_data_i;
  assign rx_ctl[0]  = p1_rx_ctl_i;
  assign rx_data[1] = p2_rx_data_i;
  assign rx_ctl[1]  = p2_rx_ctl_i;
  assign rx_data[2] = host_rx_data_i;
  assign rx_ctl[2]  = host_rx_ctl_i;
  assign rx_data[3] = boundary_rx_data_i;
  assign rx_ctl[3]  = boundary_rx_ctl_i;

  for (genvar p = 0; p < 4; p++) begin : g_rx
    port_rx #(
        .LOOP(p < 2)
    ) u_rx (
        .clk_i,
        .rst_i,
        .now_i,
        .restore_i(link_restore),
        .rx_data_i(rx_data[p]),
        .rx_ctl_i(rx_ctl[p]),
        .tx_data_i(tx_data[p]),
        .tx_ctl_i(tx_ctl[p]),
        .c_valid_o(c_valid[p]),
        .c_sof_o(c_sof[p]),
        .c_eof_o(c_eof[p]),
        .c_bad_o(c_bad[p]),
        .c_marked_o(c_marked[p]),
        .c_data_o(c_data[p]),
        .d_pop_i(d_pop[p]),
        .d_valid_o(d_valid[p]),
        .d_sof_o(d_sof[p]),
        .d_eof_o(d_eof[p]),
        .d_bad_o(d_bad[p]),
        .d_data_o(d_data[p]),
        .start_i(start[p]),
        .transit_ok_o(transit_ok[p]),
        .inject_ok_o(inject_ok[p]),
        .credit_o(credit[p]),
        .fault_o(fault[p]),
        .active_o(active[p]),
        .loop_o(loops[p]),
        .down_o(down[p]),
        .waiting_o(port_waiting[p]),
        .wake_at_o(port_wake[p]),
        .level_o(port_level[5*p+:5]),
        .busy_o(port_busy[p])
    );
  end

  // --------------------------------------------------------------------------------- control channel, lanes
  logic [3:0] l_valid, l_sof, l_eof, l_pop;
  logic [255:0] l_data;
  logic [1:0] g_valid, g_sof, g_eof, g_bad, g_marked, k_ack, k_last, k_valid, k_sof, k_eof, k_bad, k_flip;
  logic [1:0] o_valid, o_sof, o_eof, o_bad, o_flip, ttl_dropped, overflowed, lane_busy, stat_busy, counted, purged;
  logic [63:0] g_data[2], k_data[2], o_data[2], m_data[2];
  logic [1:0] m_valid, m_sof, m_eof, m_bad;

  for (genvar d = 0; d < 2; d++) begin : g_lane
    lane_control u_lane (
        .clk_i,
        .rst_i,
        .now_i,
        .watchdog_i(watchdog),
        .bypass_i(move),
        .bypassed_o(bypassed[d]),
        .switching_o(switching[d]),
        .trip_o(lane_trip[d]),
        .c_valid_i(c_valid[d]),
        .c_sof_i(c_sof[d]),
        .c_eof_i(c_eof[d]),
        .c_bad_i(c_bad[d]),
        .c_marked_i(c_marked[d]),
        .c_data_i(c_data[d]),
        .g_valid_o(g_valid[d]),
        .g_sof_o(g_sof[d]),
        .g_eof_o(g_eof[d]),
        .g_bad_o(g_bad[d]),
        .g_marked_o(g_marked[d]),
        .g_data_o(g_data[d]),
        .k_ack_i(k_ack[d]),
        .k_last_i(k_last[d]),
        .k_valid_i(k_valid[d]),
        .k_sof_i(k_sof[d]),
        .k_eof_i(k_eof[d]),
        .k_bad_i(k_bad[d]),
        .k_flip_i(k_flip[d]),
        .k_data_i(k_data[d]),
        .l_valid_i(l_valid[d]),
        .l_sof_i(l_sof[d]),
        .l_eof_i(l_eof[d]),
        .l_data_i(l_data[64*d+:64]),
        .l_pop_o(l_pop[d]),
        .o_valid_o(o_valid[d]),
        .o_sof_o(o_sof[d]),
        .o_eof_o(o_eof[d]),
        .o_bad_o(o_bad[d]),
        .o_flip_o(o_flip[d]),
        .o_data_o(o_data[d]),
        .ttl_dropped_o(ttl_dropped[d]),
        .overflowed_o(overflowed[d]),
        .busy_o(lane_busy[d])
    );

    stat_unit #(
        .PORT2(d == CCW)
    ) u_stat (
        .clk_i,
        .rst_i,
        .flush_i(bypassed[d]),
        .hold_i(switching[d]),
        .frozen_i(frozen),
        .fault_i,
        .now_i(now_i[7:0]),
        .card_id_i,
        .node_id_i(my_id),
        .monitor_i(control[CONTROL_MONITOR]),
        .entry_capable_i(control[CONTROL_ENTRY_CAPABLE]),
        .boundary_i(boundary),
        .gpu_type_i(gpu_type),
        .weight_i(weight),
        .errors_i(rx_bad_count[d]),
        .peer_i(boundary_peer),
        .valid_i(g_valid[d]),
        .sof_i(g_sof[d]),
        .eof_i(g_eof[d]),
        .bad_i(g_bad[d]),
        .marked_i(g_marked[d]),
        .data_i(g_data[d]),
        .ack_o(k_ack[d]),
        .last_o(k_last[d]),
        .valid_o(k_valid[d]),
        .sof_o(k_sof[d]),
        .eof_o(k_eof[d]),
        .bad_o(k_bad[d]),
        .flip_o(k_flip[d]),
        .data_o(k_data[d]),
        .m_valid_o(m_valid[d]),
        .m_sof_o(m_sof[d]),
        .m_eof_o(m_eof[d]),
        .m_bad_o(m_bad[d]),
        .m_data_o(m_data[d]),
        .counted_o(counted[d]),
        .purged_o(purged[d]),
        .busy_o(stat_busy[d])
    );
  end

  assign mrx0_data_o = m_data[CW];
  assign mrx0_ctl_o  = {m_bad[CW], m_eof[CW], m_sof[CW], m_valid[CW]};
  assign mrx1_data_o = m_data[CCW];
  assign mrx1_ctl_o  = {m_bad[CCW], m_eof[CCW], m_sof[CCW], m_valid[CCW]};

  // Control frames from the CPU and from the other card are for the firmware.
  logic host_mail, boundary_mail;
  assign host_mail = c_valid[2] && !frozen && !out_of_ring;
  assign boundary_mail = c_valid[3] && !frozen && !out_of_ring;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      mrx2_data_o <= 64'h0;
      mrx2_ctl_o  <= 4'h0;
      mrx3_data_o <= 64'h0;
      mrx3_ctl_o  <= 4'h0;
    end else begin
      mrx3_data_o <= boundary_mail ? c_data[3] : 64'h0;
      mrx3_ctl_o  <= boundary_mail ? {c_bad[3], c_eof[3], c_sof[3], 1'b1} : 4'h0;
      mrx2_data_o <= host_mail ? c_data[2] : 64'h0;
      mrx2_ctl_o  <= host_mail ? {c_bad[2], c_eof[2], c_sof[2], 1'b1} : 4'h0;
    end
  end

  logic outbox_busy;
  outbox u_outbox (
      .clk_i,
      .rst_i,
      .frozen_i(frozen),
      .babble_i(fault_i[FAULT_BABBLE]),
      .lose_i(fault_i[FAULT_KEEPALIVE_LOSS]),
      .clear_i({out_of_ring, out_of_ring, bypassed}),
      .card_id_i,
      .node_id_i(my_id),
      .ring_size_i,
      .now_i,
      .allowance_i(allowance),
      .period_i(allowance_period),
      .m_valid_i(mtx_valid_i),
      .m_sof_i(mtx_sof_i),
      .m_eof_i(mtx_eof_i),
      .m_port_i(mtx_port_i),
      .m_data_i(mtx_data_i),
      .m_ready_o(mtx_ready_o),
      .muted_o(muted),
      .mute_o(mute),
      .wake_at_o(mute_wake),
      .valid_o(l_valid),
      .sof_o(l_sof),
      .eof_o(l_eof),
      .data_o(l_data),
      .pop_i(l_pop),
      .busy_o(outbox_busy)
  );
  assign l_pop[3:2] = l_valid[3:2];

  // ------------------------------------------------------------------------------------------- data channel
  logic [4:0] want[4], pop[4];
  logic [63:0] route_data[4];
  logic [3:0] dropped, expired, stalled;
  logic unused_route;
  assign unused_route = stalled[3];
  for (genvar p = 0; p < 4; p++) begin : g_route
    data_route #(
        .FROM(2'(p))
    ) u_route (
        .clk_i,
        .rst_i,
        .bypassed_i(out_of_ring),
        .entry_i(entry),
        .boundary_i(boundary),
        .from_above_i(control[CONTROL_FROM_ABOVE]),
        .crossings_i(crossings),
        .exits_i(exits),
        .card_id_i,
        .node_id_i(my_id),
        .ring_size_i,
        .valid_i(d_valid[p]),
        .sof_i(d_sof[p]),
        .eof_i(d_eof[p]),
        .data_i(d_data[p]),
        .pop_o(d_pop[p]),
        .want_o(want[p]),
        .data_o(route_data[p]),
        .pop_i(pop[p]),
        .dropped_o(dropped[p]),
        .expired_o(expired[p]),
        .stalled_o(stalled[p])
    );
  end

  logic e_valid, e_sof, e_eof, e_bad;
  logic [63:0] e_data;
  logic [ 1:0] e_from;
  logic [ 3:0] e_pop;
  stream_arbiter u_eject (
      .clk_i,
      .rst_i,
      .want_i({want[3][3], want[2][3], want[1][3], want[0][3]}),
      .may_start_i(4'b1111),
      .sof_i(d_sof),
      .eof_i(d_eof),
      .bad_i(d_bad),
      .data_i({route_data[3], route_data[2], route_data[1], route_data[0]}),
      .ready_i(1'b1),
      .pop_o(e_pop),
      .valid_o(e_valid),
      .sof_o(e_sof),
      .eof_o(e_eof),
      .bad_o(e_bad),
      .data_o(e_data)
  );

  assign e_from = {e_pop[3] || e_pop[2], e_pop[3] || e_pop[1]};

  logic r_valid, r_ack, r_take, units_done, units_refused, data_bad, compute_waiting, compute_busy;
  logic [63:0] r_unit, r_digest, compute_wake;
  logic [15:0] r_home, r_attempt, r_status;
  logic [7:0] r_card, r_queued;
  logic [31:0] r_length, r_cycles;
  logic [ 1:0] r_from;
  compute_engine u_compute (
      .clk_i,
      .rst_i,
      .flush_i(out_of_ring),
      .frozen_i(frozen),
      .corrupt_i(fault_i[FAULT_CORRUPT]),
      .slow_i(fault_i[FAULT_SLOW]),
      .now_i,
      .card_id_i,
      .setup_i(compute_setup),
      .per_flit_i(compute_per_flit),
      .e_valid_i(e_valid),
      .e_sof_i(e_sof),
      .e_eof_i(e_eof),
      .e_bad_i(e_bad),
      .e_data_i(e_data),
      .e_from_i(e_from),
      .r_valid_o(r_valid),
      .r_ack_o(r_ack),
      .r_unit_o(r_unit),
      .r_home_o(r_home),
      .r_card_o(r_card),
      .r_attempt_o(r_attempt),
      .r_status_o(r_status),
      .r_queued_o(r_queued),
      .r_digest_o(r_digest),
      .r_length_o(r_length),
      .r_cycles_o(r_cycles),
      .r_from_o(r_from),
      .r_take_i(r_take),
      .bad_o(data_bad),
      .done_o(units_done),
      .refused_o(units_refused),
      .waiting_o(compute_waiting),
      .wake_at_o(compute_wake),
      .busy_o(compute_busy)
  );

  logic t_valid, t_sof, t_eof;
  logic [63:0] t_data;
  logic [ 1:0] t_to;
  logic [ 3:0] t_pop;
  result_tx u_result (
      .clk_i,
      .rst_i,
      .bypassed_i(out_of_ring),
      .card_id_i,
      .node_id_i(my_id),
      .ring_size_i,
      .valid_i(r_valid),
      .ack_i(r_ack),
      .unit_i(r_unit),
      .home_i(r_home),
      .home_card_i(r_card),
      .crossings_i(boundary ? crossings : 16'h0),
      .attempt_i(r_attempt),
      .status_i(r_status),
      .queued_i(r_queued),
      .digest_i(r_digest),
      .length_i(r_length),
      .cycles_i(r_cycles),
      .from_i(r_from),
      .take_o(r_take),
      .valid_o(t_valid),
      .sof_o(t_sof),
      .eof_o(t_eof),
      .data_o(t_data),
      .to_o(t_to),
      .pop_i(t_pop != 4'b0000)
  );

  // Ways out: 0 the clockwise lane by port 2, 1 the counter-clockwise lane by port 1, 2 the CPU, 3 another card.
  // Four streams compete for each: into a ring what is on its way in it, this GPU's results, frames from the CPU
  // and frames from another card; to the CPU from both lanes, results, and from another card; to another card
  // from both lanes, results, and from the CPU. x_* is stream x.
  logic [3:0] way_pop[4], w_valid, w_sof, w_eof, w_bad, w_ready;
  logic [63:0] w_data[4];
  for (genvar w = 0; w < 4; w++) begin : g_way
    logic [3:0] x_want, x_ok, x_sof, x_eof, x_bad;
    logic [255:0] x_data;
    if (w < 2) begin : g_ring
      logic give_way;
      injection_turn u_turn (
          .clk_i,
          .rst_i,
          .waiting_i(x_want[3:1] != 3'b000),
          .transit_ok_i(transit_ok[1-w]),
          .inject_ok_i(inject_ok[1-w]),
          .begin_i(start[1-w]),
          .hold_o(give_way)
      );
      // The transmitter of lane w is on the other port than its receiver.
      assign x_want = {want[3][w], want[2][w], t_valid && t_to == 2'(w), want[w][w]};
      assign x_ok   = {{3{inject_ok[1-w]}}, transit_ok[1-w] && !give_way};
      assign x_sof  = {d_sof[3:2], t_sof, d_sof[w]};
      assign x_eof  = {d_eof[3:2], t_eof, d_eof[w]};
      assign x_bad  = {d_bad[3:2], 1'b0, d_bad[w]};
      assign x_data = {route_data[3], route_data[2], t_data, route_data[w]};
    end else begin : g_out
      localparam int OTHER = 5 - w;  // the receiver of the other link that leaves the ring
      localparam int BIT = w == 2 ? 2 : 4;
      assign x_want = {want[OTHER][BIT], want[1][BIT], t_valid && t_to == 2'(w), want[0][BIT]};
      assign x_ok   = {4{transit_ok[w]}};
      assign x_sof  = {d_sof[OTHER], d_sof[1], t_sof, d_sof[0]};
      assign x_eof  = {d_eof[OTHER], d_eof[1], t_eof, d_eof[0]};
      assign x_bad  = {d_bad[OTHER], d_bad[1], 1'b0, d_bad[0]};
      assign x_data = {route_data[OTHER], route_data[1], t_data, route_data[0]};
    end
    stream_arbiter u_arbiter (
        .clk_i,
        .rst_i,
        .want_i(x_want),
        .may_start_i(x_ok),
        .sof_i(x_sof),
        .eof_i(x_eof),
        .bad_i(x_bad),
        .data_i(x_data),
        .ready_i(w_ready[w]),
        .pop_o(way_pop[w]),
        .valid_o(w_valid[w]),
        .sof_o(w_sof[w]),
        .eof_o(w_eof[w]),
        .bad_o(w_bad[w]),
        .data_o(w_data[w])
    );
    assign t_pop[w] = way_pop[w][1];
  end
  // By receiver: other card, GPU, CPU, ccw, cw.
  assign pop[0]   = {way_pop[3][0], e_pop[0], way_pop[2][0], 1'b0, way_pop[0][0]};
  assign pop[1]   = {way_pop[3][2], e_pop[1], way_pop[2][2], way_pop[1][0], 1'b0};
  assign pop[2]   = {way_pop[3][3], e_pop[2], 1'b0, way_pop[1][2], way_pop[0][2]};
  assign pop[3]   = {1'b0, e_pop[3], way_pop[2][3], way_pop[1][3], way_pop[0][3]};
  assign start[1] = w_valid[0] && w_ready[0] && w_sof[0];
  assign start[0] = w_valid[1] && w_ready[1] && w_sof[1];
  assign start[2] = w_valid[2] && w_ready[2] && w_sof[2];
  assign start[3] = w_valid[3] && w_ready[3] && w_sof[3];

  // ------------------------------------------------------------------------------------------ transmitters
  logic [3:0] tx_busy;
  link_tx u_tx1 (
      .clk_i,
      .rst_i,
      .loop_i(loops[0]),
      .active_i(active[0]),
      .silent_i(silent),
      .ring_size_i,
      .c_valid_i(o_valid[CCW]),
      .c_sof_i(o_sof[CCW]),
      .c_eof_i(o_eof[CCW]),
      .c_bad_i(o_bad[CCW]),
      .c_flip_i(o_flip[CCW]),
      .c_data_i(o_data[CCW]),
      .d_valid_i(w_valid[1]),
      .d_sof_i(w_sof[1]),
      .d_eof_i(w_eof[1]),
      .d_bad_i(w_bad[1]),
      .d_data_i(w_data[1]),
      .d_ready_o(w_ready[1]),
      .credit_i(credit[0]),
      .fault_i(fault[0]),
      .data_o(p1_tx_data_o),
      .ctl_o(p1_tx_ctl_o),
      .heard_data_o(tx_data[0]),
      .heard_ctl_o(tx_ctl[0]),
      .busy_o(tx_busy[0])
  );

  link_tx u_tx2 (
      .clk_i,
      .rst_i,
      .loop_i(loops[1]),
      .active_i(active[1]),
      .silent_i(silent),
      .ring_size_i,
      .c_valid_i(o_valid[CW]),
      .c_sof_i(o_sof[CW]),
      .c_eof_i(o_eof[CW]),
      .c_bad_i(o_bad[CW]),
      .c_flip_i(o_flip[CW]),
      .c_data_i(o_data[CW]),
      .d_valid_i(w_valid[0]),
      .d_sof_i(w_sof[0]),
      .d_eof_i(w_eof[0]),
      .d_bad_i(w_bad[0]),
      .d_data_i(w_data[0]),
      .d_ready_o(w_ready[0]),
      .credit_i(credit[1]),
      .fault_i(fault[1]),
      .data_o(p2_tx_data_o),
      .ctl_o(p2_tx_ctl_o),
      .heard_data_o(tx_data[1]),
      .heard_ctl_o(tx_ctl[1]),
      .busy_o(tx_busy[1])
  );

  link_tx u_tx_host (
      .clk_i,
      .rst_i,
      .loop_i(1'b0),
      .active_i(active[2]),
      .silent_i(1'b0),
      .ring_size_i,
      .c_valid_i(l_valid[2]),
      .c_sof_i(l_sof[2]),
      .c_eof_i(l_eof[2]),
      .c_bad_i(1'b0),
      .c_flip_i(1'b0),
      .c_data_i(l_data[191:128]),
      .d_valid_i(w_valid[2]),
      .d_sof_i(w_sof[2]),
      .d_eof_i(w_eof[2]),
      .d_bad_i(w_bad[2]),
      .d_data_i(w_data[2]),
      .d_ready_o(w_ready[2]),
      .credit_i(credit[2]),
      .fault_i(fault[2]),
      .data_o(host_tx_data_o),
      .ctl_o(host_tx_ctl_o),
      .heard_data_o(tx_data[2]),
      .heard_ctl_o(tx_ctl[2]),
      .busy_o(tx_busy[2])
  );

  link_tx u_tx_boundary (
      .clk_i,
      .rst_i,
      .loop_i(1'b0),
      .active_i(active[3]),
      .silent_i(1'b0),
      .ring_size_i,
      .c_valid_i(l_valid[3]),
      .c_sof_i(l_sof[3]),
      .c_eof_i(l_eof[3]),
      .c_bad_i(1'b0),
      .c_flip_i(1'b0),
      .c_data_i(l_data[255:192]),
      .d_valid_i(w_valid[3]),
      .d_sof_i(w_sof[3]),
      .d_eof_i(w_eof[3]),
      .d_bad_i(w_bad[3]),
      .d_data_i(w_data[3]),
      .d_ready_o(w_ready[3]),
      .credit_i(credit[3]),
      .fault_i(fault[3]),
      .data_o(boundary_tx_data_o),
      .ctl_o(boundary_tx_ctl_o),
      .heard_data_o(tx_data[3]),
      .heard_ctl_o(tx_ctl[3]),
      .busy_o(tx_busy[3])
  );

  // --------------------------------------------------------------------------------------------- registers
  registers u_registers (
      .clk_i,
      .rst_i,
      .we_i(reg_we_i),
      .addr_i(reg_addr_i),
      .wdata_i(reg_wdata_i),
      .rdata_o(reg_rdata_o),
      .status_i({
        20'h0,
        fault_i[FAULT_SLOW],
        stuck,
        restoring,
        !active[3],
        !active[2],
        !active[1],
        !active[0],
        healthy,
        muted,
        tripped,
        bypassed[CCW],
        bypassed[CW]
      }),
      .counted_i(counted),
      .rx_bad_i(c_valid[1:0] & c_eof[1:0] & c_bad[1:0] & ~c_marked[1:0]),
      .marked_i(c_valid[1:0] & c_eof[1:0] & c_marked[1:0]),
      .ttl_dropped_i({expired, ttl_dropped}),
      .purged_i(purged),
      .trips_i(trips),
      .mutes_i(mute),
      .wraps_i(down[1:0]),
      .overflowed_i(overflowed),
      .data_bad_i(data_bad),
      .data_dropped_i(dropped),
      .units_done_i(units_done),
      .units_refused_i(units_refused),
      .crossed_i(start[3]),
      .stalled_i(stalled[2:0]),
      .control_o(control),
      .gpu_type_o(gpu_type),
      .weight_o(weight),
      .watchdog_o(watchdog),
      .heartbeat_o(heartbeat),
      .allowance_o(allowance),
      .allowance_period_o(allowance_period),
      .link_restore_o(link_restore),
      .compute_setup_o(compute_setup),
      .compute_per_flit_o(compute_per_flit),
      .gpu_restore_o(gpu_restore),
      .boundary_peer_o(boundary_peer),
      .crossings_o(crossings),
      .exits_o(exits),
      .rx_bad_port1_o(rx_bad_count[0]),
      .rx_bad_port2_o(rx_bad_count[1])
  );

  // -------------------------------------------------------------------------------------------- quiescence
  // Queues and pipelines say when they are busy. What is left are levels: they are at rest when the last clock
  // edge changed none of them.
  logic [31:0] level, level_q;
  logic configured_q;
  assign level = {stuck, position_waiting, muted, pong_q, bypassed, switch_level, port_level};

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      level_q      <= 32'h0;
      configured_q <= 1'b0;
    end else begin
      level_q      <= level;
      configured_q <= reg_we_i;
    end
  end

  assign quiescent_o = level == level_q && !configured_q && tx_busy == 4'b0000 && port_busy == 4'b0000
      && lane_busy == 2'b00 && stat_busy == 2'b00 && !outbox_busy && !compute_busy && !t_valid
      && !mrx2_ctl_o[0] && !mrx3_ctl_o[0];

  always @* begin
    wake_at_o = 64'hFFFF_FFFF_FFFF_FFFF;
    if (switch_waiting) wake_at_o = switch_wake;
    if (muted && mute_wake < wake_at_o) wake_at_o = mute_wake;
    if (compute_waiting && compute_wake < wake_at_o) wake_at_o = compute_wake;
    if (position_waiting && position_wake < wake_at_o) wake_at_o = position_wake;
    for (int p = 0; p < 4; p++) if (port_waiting[p] && port_wake[p] < wake_at_o) wake_at_o = port_wake[p];
  end
endmodule
