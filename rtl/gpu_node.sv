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
#(
    parameter bit FAULTS = 1'b1,  // 0: fault_i is not looked at, and what serves faults alone is left out
    parameter int CONTEXTS = MAX_CONTEXTS,  // of the compute engine; 0: it has none, and only plain work units
    parameter bit METER = 1'b1  // 0: the compute engine has no power states and no energy meter
) (
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
  // ------------------------------------------------------------------------------------- wires between the parts
  // Vectors of four are by port (PORT_*), of two by lane (LANE_*).
  logic [3:0][63:0] d_data, o_data, w_data, port_wake;
  logic [63:0] rx_data[4], tx_data[4], heard_data[4], c_data[4];
  logic [7:0] rx_ctl[4], tx_ctl[4], heard_ctl[4];
  logic [3:0][4:0] port_level;
  logic [3:0] c_valid, c_sof, c_eof, c_bad, c_marked, o_valid, o_sof, o_eof, o_bad, o_flip;
  logic [3:0] d_pop, d_valid, d_sof, d_eof, d_bad, w_valid, w_sof, w_eof, w_bad, w_ready;
  logic [3:0] start, transit_ok, inject_ok, credit, remote_fault, active, loops, down, port_waiting, port_busy, tx_busy;
  logic [3:0] dropped, expired, stalled;
  logic [1:0] bypassed, ttl_dropped, overflowed, counted, purged;

  assign rx_data[PORT_P1] = p1_rx_data_i;
  assign rx_ctl[PORT_P1] = p1_rx_ctl_i;
  assign p1_tx_data_o = tx_data[PORT_P1];
  assign p1_tx_ctl_o = tx_ctl[PORT_P1];
  assign rx_data[PORT_P2] = p2_rx_data_i;
  assign rx_ctl[PORT_P2] = p2_rx_ctl_i;
  assign p2_tx_data_o = tx_data[PORT_P2];
  assign p2_tx_ctl_o = tx_ctl[PORT_P2];
  assign rx_data[PORT_HOST] = host_rx_data_i;
  assign rx_ctl[PORT_HOST] = host_rx_ctl_i;
  assign host_tx_data_o = tx_data[PORT_HOST];
  assign host_tx_ctl_o = tx_ctl[PORT_HOST];
  assign rx_data[PORT_BOUNDARY] = boundary_rx_data_i;
  assign rx_ctl[PORT_BOUNDARY] = boundary_rx_ctl_i;
  assign boundary_tx_data_o = tx_data[PORT_BOUNDARY];
  assign boundary_tx_ctl_o = tx_ctl[PORT_BOUNDARY];

  logic [31:0] control, watchdog, heartbeat, allowance, allowance_period, link_restore;
  logic [31:0] compute_setup, compute_per_flit, gpu_restore, device_memory, context_switch, default_slice, memory_held;
  logic [15:0] weight, crossings, exits;
  logic [15:0] run_power, idle_power, low_power, off_power, low_wake, off_wake;
  logic [31:0] low_after, off_after;
  logic [63:0] energy, busy_cycles;
  logic [ 2:0] power_state;
  logic metered, repowered;
  logic [9:0] turn;
  logic [7:0] gpu_type, boundary_peer;
  logic [1:0][7:0] rx_bad_count;
  logic unused_ok;
  assign unused_ok = &{c_marked[3:2], down[3:2], stalled[3], control[31:5]};

  logic [FAULT_PORT_WIDTH-1:0] fault;
  assign fault = fault_i & {FAULT_PORT_WIDTH{FAULTS}};

  // The number that the GPU takes for its own.
  logic [15:0] my_id;
  assign my_id = !fault[FAULT_DUPLICATE_ID] ? node_id_i : node_id_i == 16'h0 ? ring_size_i - 16'h1 : node_id_i - 16'h1;

  // ---------------------------------------------------------------------------------------- state of the switch
  logic frozen, pong_q, ping, bypass, tripped, healthy, restoring, trip, trips, switch_waiting, muted, mute, out_of_ring;
  logic stuck, silent, position_waiting, move, lent;
  logic [63:0] switch_wake, mute_wake, position_wake;
  logic [5:0] switch_level;
  assign frozen = fault[FAULT_DEAD] || fault[FAULT_HANG];
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
      .healthy_i(!fault[FAULT_DEAD]),
      .muted_i(muted),
      .lent_i(lent),
      .trip_i(trip),
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
  assign move = fault[FAULT_SWITCH_STUCK_BYPASS] || (bypass && !fault[FAULT_SWITCH_STUCK_THROUGH]);

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

  // ------------------------------------------------------------------------------------------------------ links
  for (genvar p = 0; p < 4; p++) begin : g_rx
    port_rx #(
        .LOOP(p == PORT_P1 || p == PORT_P2)
    ) u_rx (
        .clk_i,
        .rst_i,
        .now_i,
        .restore_i(link_restore),
        .rx_data_i(rx_data[p]),
        .rx_ctl_i(rx_ctl[p]),
        .tx_data_i(heard_data[p]),
        .tx_ctl_i(heard_ctl[p]),
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
        .fault_o(remote_fault[p]),
        .active_o(active[p]),
        .loop_o(loops[p]),
        .down_o(down[p]),
        .waiting_o(port_waiting[p]),
        .wake_at_o(port_wake[p]),
        .level_o(port_level[p]),
        .busy_o(port_busy[p])
    );
  end

  for (genvar p = 0; p < 4; p++) begin : g_tx
    localparam bit RING = p == PORT_P1 || p == PORT_P2;
    link_tx u_tx (
        .clk_i,
        .rst_i,
        .loop_i(loops[p]),
        .active_i(active[p]),
        .silent_i(RING && silent),
        .ring_size_i,
        .c_valid_i(o_valid[p]),
        .c_sof_i(o_sof[p]),
        .c_eof_i(o_eof[p]),
        .c_bad_i(o_bad[p]),
        .c_flip_i(o_flip[p]),
        .c_data_i(o_data[p]),
        .d_valid_i(w_valid[p]),
        .d_sof_i(w_sof[p]),
        .d_eof_i(w_eof[p]),
        .d_bad_i(w_bad[p]),
        .d_data_i(w_data[p]),
        .d_ready_o(w_ready[p]),
        .credit_i(credit[p]),
        .fault_i(remote_fault[p]),
        .data_o(tx_data[p]),
        .ctl_o(tx_ctl[p]),
        .heard_data_o(heard_data[p]),
        .heard_ctl_o(heard_ctl[p]),
        .busy_o(tx_busy[p])
    );
  end

  // -------------------------------------------------------------------------------------------- control channel
  logic control_busy;
  control_path #(
      .FAULTS(FAULTS)
  ) u_control (
      .clk_i,
      .rst_i,
      .now_i,
      .card_id_i,
      .node_id_i(my_id),
      .ring_size_i,
      .fault_i(fault),
      .frozen_i(frozen),
      .bypass_i(move),
      .bypassed_o(bypassed),
      .lent_i(lent),
      .trip_o(trip),
      .watchdog_i(watchdog),
      .allowance_i(allowance),
      .allowance_period_i(allowance_period),
      .monitor_i(control[CONTROL_MONITOR]),
      .entry_capable_i(control[CONTROL_ENTRY_CAPABLE]),
      .boundary_i(control[CONTROL_BOUNDARY]),
      .gpu_type_i(gpu_type),
      .weight_i(weight),
      .errors_i(rx_bad_count),
      .peer_i(boundary_peer),
      .c_valid_i(c_valid),
      .c_sof_i(c_sof),
      .c_eof_i(c_eof),
      .c_bad_i(c_bad),
      .c_marked_i(c_marked[1:0]),
      .c0_data_i(c_data[0]),
      .c1_data_i(c_data[1]),
      .c2_data_i(c_data[2]),
      .c3_data_i(c_data[3]),
      .o_valid_o(o_valid),
      .o_sof_o(o_sof),
      .o_eof_o(o_eof),
      .o_bad_o(o_bad),
      .o_flip_o(o_flip),
      .o_data_o(o_data),
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
      .muted_o(muted),
      .mute_o(mute),
      .mute_wake_at_o(mute_wake),
      .counted_o(counted),
      .purged_o(purged),
      .ttl_dropped_o(ttl_dropped),
      .overflowed_o(overflowed),
      .busy_o(control_busy)
  );

  // ----------------------------------------------------------------------------------------------- data channel
  logic t_valid, t_sof, t_eof, t_pop, e_valid, e_sof, e_eof, e_bad;
  logic [63:0] t_data, e_data;
  logic [1:0] t_to, e_from;
  data_switch u_data (
      .clk_i,
      .rst_i,
      .bypassed_i(out_of_ring),
      .entry_i(control[CONTROL_ENTRY]),
      .boundary_i(control[CONTROL_BOUNDARY]),
      .from_above_i(control[CONTROL_FROM_ABOVE]),
      .crossings_i(crossings),
      .exits_i(exits),
      .card_id_i,
      .node_id_i(my_id),
      .ring_size_i,
      .d_valid_i(d_valid),
      .d_sof_i(d_sof),
      .d_eof_i(d_eof),
      .d_bad_i(d_bad),
      .d_data_i(d_data),
      .d_pop_o(d_pop),
      .t_valid_i(t_valid),
      .t_sof_i(t_sof),
      .t_eof_i(t_eof),
      .t_data_i(t_data),
      .t_to_i(t_to),
      .t_pop_o(t_pop),
      .e_valid_o(e_valid),
      .e_sof_o(e_sof),
      .e_eof_o(e_eof),
      .e_bad_o(e_bad),
      .e_data_o(e_data),
      .e_from_o(e_from),
      .w_valid_o(w_valid),
      .w_sof_o(w_sof),
      .w_eof_o(w_eof),
      .w_bad_o(w_bad),
      .w_data_o(w_data),
      .w_ready_i(w_ready),
      .transit_ok_i(transit_ok),
      .inject_ok_i(inject_ok),
      .start_o(start),
      .dropped_o(dropped),
      .expired_o(expired),
      .stalled_o(stalled)
  );

  logic r_valid, r_ack, r_take, units_done, units_refused, data_bad, compute_waiting, compute_busy;
  logic [REPLY_BITS-1:0] r_reply;
  logic [63:0] r_digest, compute_wake;
  logic [15:0] r_status;
  logic [7:0] r_queued;
  logic [31:0] r_length, r_cycles;
  compute_engine #(
      .CONTEXTS(CONTEXTS),
      .METER(METER)
  ) u_compute (
      .clk_i,
      .rst_i,
      .flush_i(out_of_ring),
      .frozen_i(frozen),
      .corrupt_i(fault[FAULT_CORRUPT]),
      .slow_i(fault[FAULT_SLOW]),
      .now_i,
      .card_id_i,
      .setup_i(compute_setup),
      .per_flit_i(compute_per_flit),
      .device_memory_i(device_memory),
      .context_switch_i(context_switch),
      .default_slice_i(default_slice),
      .run_power_i(run_power),
      .idle_power_i(idle_power),
      .low_power_i(low_power),
      .off_power_i(off_power),
      .low_after_i(low_after),
      .off_after_i(off_after),
      .low_wake_i(low_wake),
      .off_wake_i(off_wake),
      .metered_i(metered),
      .repowered_i(repowered),
      .e_valid_i(e_valid),
      .e_sof_i(e_sof),
      .e_eof_i(e_eof),
      .e_bad_i(e_bad),
      .e_data_i(e_data),
      .e_from_i(e_from),
      .r_valid_o(r_valid),
      .r_ack_o(r_ack),
      .r_reply_o(r_reply),
      .r_status_o(r_status),
      .r_queued_o(r_queued),
      .r_digest_o(r_digest),
      .r_length_o(r_length),
      .r_cycles_o(r_cycles),
      .r_take_i(r_take),
      .bad_o(data_bad),
      .done_o(units_done),
      .refused_o(units_refused),
      .held_o(memory_held),
      .power_state_o(power_state),
      .energy_o(energy),
      .busy_cycles_o(busy_cycles),
      .turn_o(turn),
      .waiting_o(compute_waiting),
      .wake_at_o(compute_wake),
      .busy_o(compute_busy)
  );

  result_tx u_result (
      .clk_i,
      .rst_i,
      .bypassed_i(out_of_ring),
      .card_id_i,
      .node_id_i(my_id),
      .ring_size_i,
      .valid_i(r_valid),
      .ack_i(r_ack),
      .reply_i(r_reply),
      .crossings_i(control[CONTROL_BOUNDARY] ? crossings : 16'h0),
      .status_i(r_status),
      .queued_i(r_queued),
      .digest_i(r_digest),
      .length_i(r_length),
      .cycles_i(r_cycles),
      .take_o(r_take),
      .valid_o(t_valid),
      .sof_o(t_sof),
      .eof_o(t_eof),
      .data_o(t_data),
      .to_o(t_to),
      .pop_i(t_pop)
  );

  // --------------------------------------------------------------------------------------------------- registers
  logic [31:0] status;
  assign status[STATUS_BYPASS_CW] = bypassed[LANE_CW];
  assign status[STATUS_BYPASS_CCW] = bypassed[LANE_CCW];
  assign status[STATUS_TRIPPED] = tripped;
  assign status[STATUS_MUTED] = muted;
  assign status[STATUS_HEALTHY] = healthy;
  assign status[STATUS_WRAP_PORT1] = !active[PORT_P1];
  assign status[STATUS_WRAP_PORT2] = !active[PORT_P2];
  assign status[STATUS_HOST_DOWN] = !active[PORT_HOST];
  assign status[STATUS_BOUNDARY_DOWN] = !active[PORT_BOUNDARY];
  assign status[STATUS_RESTORING] = restoring;
  assign status[STATUS_STUCK] = stuck;
  assign status[STATUS_DEGRADED] = fault[FAULT_SLOW];
  assign status[STATUS_LENT] = lent;
  assign status[31:STATUS_LENT+1] = '0;

  registers #(
      .CONTEXTS(CONTEXTS),
      .METER(METER)
  ) u_registers (
      .clk_i,
      .rst_i,
      .we_i(reg_we_i),
      .addr_i(reg_addr_i),
      .wdata_i(reg_wdata_i),
      .rdata_o(reg_rdata_o),
      .status_i(status),
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
      .crossed_i(start[PORT_BOUNDARY]),
      .stalled_i(stalled[2:0]),
      .memory_held_i(memory_held),
      .power_state_i(power_state),
      .energy_i(energy),
      .busy_i(busy_cycles),
      .metered_o(metered),
      .repowered_o(repowered),
      .turn_i(turn),
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
      .device_memory_o(device_memory),
      .context_switch_o(context_switch),
      .default_slice_o(default_slice),
      .run_power_o(run_power),
      .idle_power_o(idle_power),
      .low_power_o(low_power),
      .off_power_o(off_power),
      .low_after_o(low_after),
      .off_after_o(off_after),
      .low_wake_o(low_wake),
      .off_wake_o(off_wake),
      .lent_o(lent),
      .rx_bad_port1_o(rx_bad_count[0]),
      .rx_bad_port2_o(rx_bad_count[1])
  );

  // --------------------------------------------------------------------------------------------------------- rest
  rest_monitor #(
      .LEVELS(33)
  ) u_rest (
      .clk_i,
      .rst_i,
      .level_i({lent, stuck, position_waiting, muted, pong_q, bypassed, switch_level, port_level}),
      .busy_i(tx_busy != 4'b0000 || port_busy != 4'b0000 || control_busy || compute_busy || t_valid),
      .write_i(reg_we_i),
      .waiting_i({port_waiting, compute_waiting, muted, position_waiting, switch_waiting}),
      .wake_at0_i(switch_wake),
      .wake_at1_i(position_wake),
      .wake_at2_i(mute_wake),
      .wake_at3_i(compute_wake),
      .wake_at4_i(port_wake),
      .quiescent_o,
      .wake_at_o
  );
endmodule
