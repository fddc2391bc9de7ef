// A GPU node by another team: the ports and the wire of gpu_node, another inside.
//
// Four ports, two lanes, mailbox, router and engine; here are the registers, the switch's decision, the wiring.
// Ports: 0 ring port 1, 1 ring port 2, 2 CPU, 3 other card. Lanes: 0 clockwise, into port 1 and out of port 2.
module other_node
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
  logic frozen, out, moved, told, restoring_q, tripped_q, muted, stuck_q, silent_q;
  logic [15:0] my_id;
  logic [1:0] stands;  // of each lane: bypassed
  assign frozen = fault_i[FAULT_DEAD] || fault_i[FAULT_HANG];
  assign out    = stands != 2'b00;
  assign my_id  = !fault_i[FAULT_DUPLICATE_ID] ? node_id_i
      : node_id_i == 16'd0 ? ring_size_i - 16'd1 : node_id_i - 16'd1;

  // ---- registers: what can be written, and counters from REG_FORWARDED on
  localparam int SETTINGS = 15, COUNTERS = 17;
  logic [31:0] set_q[SETTINGS];
  logic [31:0] count_q[COUNTERS];
  logic [3*COUNTERS-1:0] events;  // how many of each just now
  logic [31:0] status, control;
  logic lent_q;
  assign control = set_q[REG_CONTROL[3:0]];
  for (genvar c = 0; c < COUNTERS; c++) begin : g_counter
    always_ff @(posedge clk_i) begin
      if (rst_i) count_q[c] <= 32'h0;
      else if (count_q[c] < 32'hFFFF_FFF0) count_q[c] <= count_q[c] + 32'(events[3*c+:3]);
    end
  end
  for (genvar r = 0; r < SETTINGS; r++) begin : g_setting
    localparam logic [31:0] RESET = r == 2 ? RESET_WEIGHT : r == 3 ? RESET_WATCHDOG : r == 4 ? RESET_HEARTBEAT
        : r == 5 ? RESET_ALLOWANCE : r == 6 ? RESET_ALLOWANCE_PERIOD : r == 7 ? RESET_LINK_RESTORE
        : r == 8 ? RESET_COMPUTE_SETUP : r == 9 ? RESET_COMPUTE_PER_FLIT : r == 10 ? RESET_GPU_RESTORE
        : r == 11 ? RESET_BOUNDARY_PEER : 32'h0;
    localparam logic [31:0] MASK = r == 1 || r == 11 ? 32'hFF
        : r == 2 || r == 12 || r == 13 ? 32'hFFFF : 32'hFFFF_FFFF;
    always_ff @(posedge clk_i) begin
      if (rst_i) set_q[r] <= RESET;
      else if (reg_we_i && reg_addr_i == 8'(r)) set_q[r] <= reg_wdata_i & MASK;
    end
  end
  always @* begin
    reg_rdata_o = 32'h0;
    if (reg_addr_i == REG_STATUS) reg_rdata_o = status;
    else if (reg_addr_i == REG_LENT) reg_rdata_o = {31'h0, lent_q};
    else if (reg_addr_i < 8'(SETTINGS)) reg_rdata_o = set_q[reg_addr_i[3:0]];
    else if (reg_addr_i > REG_STATUS && reg_addr_i <= REG_STATUS + 8'(COUNTERS))
      reg_rdata_o = count_q[5'(reg_addr_i-REG_FORWARDED)];
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) lent_q <= 1'b0;
    else if (reg_we_i && reg_addr_i == REG_LENT) lent_q <= reg_wdata_i[0];
  end

  // ---- the four ports
  logic [3:0] c_valid, c_sof, c_eof, c_bad, c_marked, d_valid, d_sof, d_eof, d_bad, d_pop;
  logic [3:0] p_up, fell, p_idle, p_timed;
  logic [3:0] k_valid, k_sof, k_eof, k_bad, k_flip, s_ready;
  logic [4:0] s_valid, s_sof, s_eof, s_bad;  // what the router sends; 4: to the GPU
  logic [255:0] c_data, d_data, k_data, rx_data, tx_data, p_until;
  logic [319:0] s_data;
  logic [31:0] rx_ctl, tx_ctl;
  logic [7:0] credits;
  logic [3:0] silent;
  assign silent = {2'b00, {2{silent_q}}};
  assign rx_data = {boundary_rx_data_i, host_rx_data_i, p2_rx_data_i, p1_rx_data_i};
  assign rx_ctl  = {boundary_rx_ctl_i, host_rx_ctl_i, p2_rx_ctl_i, p1_rx_ctl_i};
  assign {boundary_tx_data_o, host_tx_data_o, p2_tx_data_o, p1_tx_data_o} = tx_data;
  assign {boundary_tx_ctl_o, host_tx_ctl_o, p2_tx_ctl_o, p1_tx_ctl_o} = tx_ctl;
  for (genvar p = 0; p < 4; p++) begin : g_port
    // The router's sink 0 is out of port 2, sink 1 out of port 1.
    localparam int S = p < 2 ? 1 - p : p;
    other_port #(
        .LOOP(p < 2)
    ) u_port (
        .clk_i, .rst_i, .now_i, .ring_size_i,
        .restore_i (set_q[REG_LINK_RESTORE[3:0]]),
        .silent_i  (silent[p]),
        .rx_data_i (rx_data[64*p+:64]),
        .rx_ctl_i  (rx_ctl[8*p+:8]),
        .tx_data_o (tx_data[64*p+:64]),
        .tx_ctl_o  (tx_ctl[8*p+:8]),
        .c_valid_o (c_valid[p]),
        .c_sof_o   (c_sof[p]),
        .c_eof_o   (c_eof[p]),
        .c_bad_o   (c_bad[p]),
        .c_marked_o(c_marked[p]),
        .c_data_o  (c_data[64*p+:64]),
        .d_valid_o (d_valid[p]),
        .d_sof_o   (d_sof[p]),
        .d_eof_o   (d_eof[p]),
        .d_bad_o   (d_bad[p]),
        .d_data_o  (d_data[64*p+:64]),
        .d_pop_i   (d_pop[p]),
        .k_valid_i (k_valid[p]),
        .k_sof_i   (k_sof[p]),
        .k_eof_i   (k_eof[p]),
        .k_bad_i   (k_bad[p]),
        .k_flip_i  (k_flip[p]),
        .k_data_i  (k_data[64*p+:64]),
        .s_valid_i (s_valid[S]),
        .s_sof_i   (s_sof[S]),
        .s_eof_i   (s_eof[S]),
        .s_bad_i   (s_bad[S]),
        .s_data_i  (s_data[64*S+:64]),
        .s_ready_o (s_ready[p]),
        .credits_o (credits[2*p+:2]),
        .up_o      (p_up[p]),
        .fell_o    (fell[p]),
        .idle_o    (p_idle[p]),
        .timed_o   (p_timed[p]),
        .until_o   (p_until[64*p+:64])
    );
  end

  // ---- what the firmware sends
  logic [3:0] q_valid, q_sof, q_eof, q_take, q_clear;
  logic [255:0] q_data;
  logic mutes, mail_overflow, mail_idle;
  logic [63:0] mute_until;
  // To the CPU and another card: a frame begins only while the GPU takes part, and is then sent to its end.
  logic [3:2] sending_q, goes;
  assign goes = q_valid[3:2] & (sending_q | {2{!out && !moved && !lent_q}});
  assign q_clear = {{2{out || moved || lent_q}} & ~sending_q, stands};
  other_mailbox u_mailbox (
      .clk_i, .rst_i, .now_i, .card_id_i, .ring_size_i,
      .my_id_i    (my_id),
      .allowance_i(set_q[REG_ALLOWANCE[3:0]]),
      .period_i   (set_q[REG_ALLOWANCE_PERIOD[3:0]]),
      .frozen_i   (frozen),
      .out_i      (out),
      .babble_i   (fault_i[FAULT_BABBLE]),
      .lose_i     (fault_i[FAULT_KEEPALIVE_LOSS]),
      .mtx_valid_i, .mtx_sof_i, .mtx_eof_i, .mtx_port_i, .mtx_data_i, .mtx_ready_o,
      .q_valid_o  (q_valid),
      .q_sof_o    (q_sof),
      .q_eof_o    (q_eof),
      .q_data_o   (q_data),
      .q_take_i   (q_take),
      .q_clear_i  (q_clear),
      .muted_o    (muted),
      .mutes_o    (mutes),
      .overflow_o (mail_overflow),
      .idle_o     (mail_idle),
      .until_o    (mute_until)
  );

  // ---- the two lanes; frames to the CPU and the other card go straight from their queue, and to the mailbox
  logic [1:0] lane_trip, counted, purged, lane_ttl, lane_overflow, lane_idle;
  logic [127:0] ring_mail;
  logic [7:0] ring_mail_ctl;
  assign {mrx1_data_o, mrx0_data_o} = ring_mail;
  assign {mrx1_ctl_o, mrx0_ctl_o} = ring_mail_ctl;
  for (genvar l = 0; l < 2; l++) begin : g_lane
    other_lane #(
        .PORT2(l == 1)
    ) u_lane (
        .clk_i, .rst_i, .now_i, .card_id_i, .fault_i,
        .my_id_i      (my_id),
        .control_i    (control),
        .watchdog_i   (set_q[REG_WATCHDOG[3:0]]),
        .gpu_type_i   (set_q[REG_GPU_TYPE[3:0]][7:0]),
        .weight_i     (set_q[REG_WEIGHT[3:0]][15:0]),
        .errors_i     (count_q[1+l][7:0]),
        .peer_i       (set_q[REG_BOUNDARY_PEER[3:0]][7:0]),
        .frozen_i     (frozen),
        .bypass_i     (moved),
        .bypassed_o   (stands[l]),
        .c_valid_i    (c_valid[l]),
        .c_sof_i      (c_sof[l]),
        .c_eof_i      (c_eof[l]),
        .c_bad_i      (c_bad[l]),
        .c_marked_i   (c_marked[l]),
        .c_data_i     (c_data[64*l+:64]),
        .l_valid_i    (q_valid[l]),
        .l_sof_i      (q_sof[l]),
        .l_eof_i      (q_eof[l]),
        .l_data_i     (q_data[64*l+:64]),
        .l_take_o     (q_take[l]),
        .k_valid_o    (k_valid[1-l]),
        .k_sof_o      (k_sof[1-l]),
        .k_eof_o      (k_eof[1-l]),
        .k_bad_o      (k_bad[1-l]),
        .k_flip_o     (k_flip[1-l]),
        .k_data_o     (k_data[64*(1-l)+:64]),
        .mrx_ctl_o    (ring_mail_ctl[4*l+:4]),
        .mrx_data_o   (ring_mail[64*l+:64]),
        .trip_o       (lane_trip[l]),
        .counted_o    (counted[l]),
        .purged_o     (purged[l]),
        .ttl_dropped_o(lane_ttl[l]),
        .overflow_o   (lane_overflow[l]),
        .idle_o       (lane_idle[l])
    );
  end
  assign k_valid[3:2] = goes;
  assign k_sof[3:2]   = q_sof[3:2];
  assign k_eof[3:2]   = q_eof[3:2];
  assign k_bad[3:2]   = 2'b00;
  assign k_flip[3:2]  = 2'b00;
  assign k_data[255:128] = q_data[255:128];
  assign q_take[3:2]  = goes;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      sending_q <= 2'b00;
      {mrx2_ctl_o, mrx3_ctl_o, mrx2_data_o, mrx3_data_o} <= 136'h0;
    end else begin
      sending_q <= (sending_q | goes) & ~(goes & q_eof[3:2]);
      {mrx2_ctl_o, mrx3_ctl_o, mrx2_data_o, mrx3_data_o} <= 136'h0;
      if (c_valid[2] && !frozen && !out)
        {mrx2_ctl_o, mrx2_data_o} <= {c_bad[2], c_eof[2], c_sof[2], 1'b1, c_data[191:128]};
      if (c_valid[3] && !frozen && !out)
        {mrx3_ctl_o, mrx3_data_o} <= {c_bad[3], c_eof[3], c_sof[3], 1'b1, c_data[255:192]};
    end
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, c_marked[3:2], fell[3:2]};

  // ---- data channel and work
  logic [4:0] r_pop;
  logic r_valid, r_sof, r_eof, unit_bad, unit_done, unit_refused, crossed, router_idle, engine_idle, engine_timed;
  logic [1:0] r_to, gpu_from;
  logic [63:0] r_data, engine_until;
  logic [2:0] data_ttl, data_dropped, data_stalled;
  assign d_pop = r_pop[3:0];
  other_router u_router (
      .clk_i, .rst_i, .now_i, .card_id_i, .ring_size_i,
      .my_id_i      (my_id),
      .control_i    (control),
      .crossings_i  (set_q[REG_CROSSINGS[3:0]]),
      .exits_i      (set_q[REG_EXITS[3:0]]),
      .out_i        (out),
      .drains_i     ({1'b0, ~p_up[3:2], 2'b00}),
      .s_valid_i    ({r_valid, d_valid}),
      .s_sof_i      ({r_sof, d_sof}),
      .s_eof_i      ({r_eof, d_eof}),
      .s_bad_i      ({1'b0, d_bad}),
      .s_data_i     ({r_data, d_data}),
      .answer_to_i  (r_to),
      .s_pop_o      (r_pop),
      .credits_i    ({credits[7:4], credits[1:0], credits[3:2]}),
      .d_ready_i    ({1'b1, s_ready[3:2], s_ready[0], s_ready[1]}),
      .d_valid_o    (s_valid),
      .d_sof_o      (s_sof),
      .d_eof_o      (s_eof),
      .d_bad_o      (s_bad),
      .d_data_o     (s_data),
      .gpu_from_o   (gpu_from),
      .ttl_dropped_o(data_ttl),
      .dropped_o    (data_dropped),
      .stalled_o    (data_stalled),
      .crossed_o    (crossed),
      .idle_o       (router_idle)
  );
  other_engine u_engine (
      .clk_i, .rst_i, .now_i, .card_id_i, .ring_size_i,
      .my_id_i   (my_id),
      .setup_i   (set_q[REG_COMPUTE_SETUP[3:0]]),
      .per_flit_i(set_q[REG_COMPUTE_PER_FLIT[3:0]]),
      .slow_i    (fault_i[FAULT_SLOW]),
      .corrupt_i (fault_i[FAULT_CORRUPT]),
      .frozen_i  (frozen),
      .flush_i   (out),
      .across_i  (control[CONTROL_BOUNDARY] ? set_q[REG_CROSSINGS[3:0]] : 32'h0),
      .e_valid_i (s_valid[4]),
      .e_sof_i   (s_sof[4]),
      .e_eof_i   (s_eof[4]),
      .e_bad_i   (s_bad[4]),
      .e_from_i  (gpu_from),
      .e_data_i  (s_data[319:256]),
      .r_valid_o (r_valid),
      .r_sof_o   (r_sof),
      .r_eof_o   (r_eof),
      .r_to_o    (r_to),
      .r_data_o  (r_data),
      .r_take_i  (r_pop[4]),
      .bad_o     (unit_bad),
      .done_o    (unit_done),
      .refused_o (unit_refused),
      .idle_o    (engine_idle),
      .timed_o   (engine_timed),
      .until_o   (engine_until)
  );

  // ---- the switch: who is let take part
  logic well, expired, ping_q, pong_q, restore_timed_q, stuck_timed_q, beat_on, trips;
  logic [63:0] beat_q, answer_q, restore_q, misplaced_q, stuck_at;
  logic answer_due_q, beat_set_q, beats, misplaced;
  logic [31:0] watchdog, heartbeat;
  assign watchdog  = set_q[REG_WATCHDOG[3:0]];
  assign heartbeat = set_q[REG_HEARTBEAT[3:0]];
  assign beat_on   = heartbeat != 32'h0;
  assign beats   = beat_set_q && !answer_due_q && !tripped_q && !fault_i[FAULT_DEAD];
  assign well    = !fault_i[FAULT_DEAD] && !tripped_q && !muted && !lent_q;
  assign told    = !well || restoring_q;
  assign moved   = fault_i[FAULT_SWITCH_STUCK_THROUGH] ? 1'b0 : fault_i[FAULT_SWITCH_STUCK_BYPASS] ? 1'b1 : told;
  assign expired = answer_due_q && ping_q != pong_q && now_i >= answer_q;
  assign trips   = !tripped_q && !fault_i[FAULT_DEAD] && (|lane_trip || expired);
  assign stuck_at  = misplaced_q + 64'(watchdog);
  assign misplaced = stands != {2{told}};
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {tripped_q, restoring_q, restore_timed_q, stuck_q, stuck_timed_q, silent_q} <= 6'h0;
      {ping_q, pong_q, answer_due_q, beat_set_q} <= 4'h0;
    end else begin
      if (!frozen) pong_q <= ping_q;
      if (fault_i[FAULT_DEAD]) answer_due_q <= 1'b0;
      if (trips) begin
        tripped_q    <= 1'b1;
        ping_q       <= !pong_q;  // asked anew: is it there again?
        answer_due_q <= 1'b0;
      end else if (tripped_q) begin
        if (ping_q == pong_q) tripped_q <= 1'b0;
      end else if (ping_q == pong_q && answer_due_q) answer_due_q <= 1'b0;
      else if (beats && now_i >= beat_q) begin
        ping_q       <= !ping_q;
        answer_due_q <= 1'b1;
        answer_q     <= now_i + 64'(watchdog);
      end
      beat_set_q <= beat_on && !(reg_we_i && reg_addr_i == REG_HEARTBEAT);
      if (beat_on && (!beat_set_q || (beats && now_i >= beat_q))) beat_q <= now_i + 64'(heartbeat);
      restoring_q <= told && !(well && restore_timed_q && now_i >= restore_q);
      restore_timed_q <= well && told;
      if (well && !restore_timed_q) restore_q <= now_i + 64'(set_q[REG_GPU_RESTORE[3:0]]);
      stuck_timed_q <= misplaced;
      if (misplaced && !stuck_timed_q) misplaced_q <= now_i;
      stuck_q  <= misplaced && (stuck_q || (stuck_timed_q && now_i >= stuck_at));
      silent_q <= misplaced && told && (silent_q || (stuck_timed_q && now_i >= stuck_at));
    end
  end
  assign status = {19'h0, lent_q, fault_i[FAULT_SLOW], stuck_q, restoring_q, ~p_up[3], ~p_up[2], ~p_up[1], ~p_up[0],
                   !fault_i[FAULT_DEAD], muted, tripped_q, stands};
  assign events = {
    data_stalled, 2'b00, crossed, 2'b00, unit_refused, 2'b00, unit_done, data_dropped, 2'b00, unit_bad,
    3'(lane_overflow[0]) + 3'(lane_overflow[1]) + 3'(mail_overflow), 3'(fell[0]) + 3'(fell[1]), 2'b00, mutes,
    2'b00, trips, 3'(purged[0]) + 3'(purged[1]), 3'(lane_ttl[0]) + 3'(lane_ttl[1]) + data_ttl,
    2'b00, c_valid[1] && c_eof[1] && c_marked[1], 2'b00, c_valid[0] && c_eof[0] && c_marked[0],
    2'b00, c_valid[1] && c_bad[1] && !c_marked[1], 2'b00, c_valid[0] && c_bad[0] && !c_marked[0],
    3'(counted[0]) + 3'(counted[1])
  };

  // ---- quiescence: awake for some cycles after anything happened, so that all that follows by itself has
  logic [2:0] settle_q;
  logic [23:0] seen_q, seen;
  logic stirs, at_rest;
  for (genvar i = 0; i < 4; i++) begin : g_seen
    assign seen[2*i+:2] = rx_ctl[8*i+6+:2];
  end
  assign seen[23:8] = fault_i;
  assign at_rest = &p_idle && &lane_idle && mail_idle && router_idle && engine_idle
      && !mrx2_ctl_o[0] && !mrx3_ctl_o[0];
  assign stirs = seen != seen_q || !at_rest || reg_we_i || mtx_valid_i || now_i >= wake_at_o;
  always_ff @(posedge clk_i) begin
    if (rst_i) settle_q <= 3'd7;
    else if (stirs) settle_q <= 3'd7;
    else if (settle_q != 3'd0) settle_q <= settle_q - 3'd1;
    if (rst_i) seen_q <= 24'h0;
    else if (seen != seen_q) seen_q <= seen;
  end
  assign quiescent_o = settle_q == 3'd0 && at_rest;
  always @* begin
    wake_at_o = ~64'h0;
    if (beats) wake_at_o = beat_q;
    if (answer_due_q && answer_q < wake_at_o) wake_at_o = answer_q;
    if (muted && mute_until < wake_at_o) wake_at_o = mute_until;
    if (restore_timed_q && restoring_q && restore_q < wake_at_o) wake_at_o = restore_q;
    if (stuck_timed_q && !stuck_q && stuck_at < wake_at_o) wake_at_o = stuck_at;
    if (engine_timed && engine_until < wake_at_o) wake_at_o = engine_until;
    for (int i = 0; i < 4; i++) if (p_timed[i] && p_until[64*i+:64] < wake_at_o) wake_at_o = p_until[64*i+:64];
  end
endmodule
