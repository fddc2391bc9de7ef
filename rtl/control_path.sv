// The control channel of a node: both lanes with the GPU's part in them, and the mailbox of its firmware.
//
// A lane (lane_control) takes control frames from one ring port to the other, through the GPU's stat_unit or past it.
// Frames for this GPU leave for the mailbox (mrx*); control frames from the CPU and from another card are for it, too.
// What the firmware writes (mtx_*) passes the outbox. Vectors of four are by port (PORT_*), those of two by lane (LANE_*).
module control_path
  import ringhil_pkg::*;
#(
    parameter bit FAULTS = 1'b1  // 0: no GPU babbles
) (
    input  logic                        clk_i,
    input  logic                        rst_i,
    input  logic [                63:0] now_i,
    input  logic [                 7:0] card_id_i,
    input  logic [                15:0] node_id_i,
    input  logic [                15:0] ring_size_i,
    input  logic [FAULT_PORT_WIDTH-1:0] fault_i,
    input  logic                        frozen_i,    // the GPU stands still
    // The switch.
    input  logic                        bypass_i,    // where it is told to stand
    output logic [                 1:0] bypassed_o,  // where it stands
    input  logic                        lent_i,      // no frame of the GPU leaves, wherever that is
    output logic                        trip_o,      // a flit made no progress for watchdog_i cycles
    input  logic [                31:0] watchdog_i,
    input  logic [                31:0] allowance_i,
    input  logic [                31:0] allowance_period_i,
    // What the GPU says of itself.
    input  logic                        monitor_i,
    input  logic                        entry_capable_i,
    input  logic                        boundary_i,
    input  logic [                 7:0] gpu_type_i,
    input  logic [                15:0] weight_i,
    input  logic [            1:0][7:0] errors_i,
    input  logic [                 7:0] peer_i,
    // From the receivers.
    input  logic [                 3:0] c_valid_i,
    input  logic [                 3:0] c_sof_i,
    input  logic [                 3:0] c_eof_i,
    input  logic [                 3:0] c_bad_i,
    input  logic [                 1:0] c_marked_i,
    input  logic [                63:0] c0_data_i,
    input  logic [                63:0] c1_data_i,
    input  logic [                63:0] c2_data_i,
    input  logic [                63:0] c3_data_i,
    // To the transmitters, which always take it.
    output logic [                 3:0] o_valid_o,
    output logic [                 3:0] o_sof_o,
    output logic [                 3:0] o_eof_o,
    output logic [                 3:0] o_bad_o,
    output logic [                 3:0] o_flip_o,
    output logic [           3:0][63:0] o_data_o,
    // Mailbox.
    input  logic                        mtx_valid_i,
    input  logic                        mtx_sof_i,
    input  logic                        mtx_eof_i,
    input  logic [                 1:0] mtx_port_i,
    input  logic [                63:0] mtx_data_i,
    output logic                        mtx_ready_o,
    output logic [                63:0] mrx0_data_o,
    output logic [                 3:0] mrx0_ctl_o,  // bad, eof, sof, valid
    output logic [                63:0] mrx1_data_o,
    output logic [                 3:0] mrx1_ctl_o,
    output logic [                63:0] mrx2_data_o,
    output logic [                 3:0] mrx2_ctl_o,
    output logic [                63:0] mrx3_data_o,
    output logic [                 3:0] mrx3_ctl_o,
    // The guardian.
    output logic                        muted_o,
    output logic                        mute_o,
    output logic [                63:0] mute_wake_at_o,
    // By lane: events to count.
    output logic [                 1:0] counted_o,
    output logic [                 1:0] purged_o,
    output logic [                 1:0] ttl_dropped_o,
    output logic [                 1:0] overflowed_o,
    output logic                        busy_o
);
  logic [63:0] c_data[4], mrx_data[4];
  logic [3:0] mrx_ctl[4];
  assign c_data[PORT_P1] = c0_data_i;
  assign mrx0_data_o = mrx_data[PORT_P1];
  assign mrx0_ctl_o = mrx_ctl[PORT_P1];
  assign c_data[PORT_P2] = c1_data_i;
  assign mrx1_data_o = mrx_data[PORT_P2];
  assign mrx1_ctl_o = mrx_ctl[PORT_P2];
  assign c_data[PORT_HOST] = c2_data_i;
  assign mrx2_data_o = mrx_data[PORT_HOST];
  assign mrx2_ctl_o = mrx_ctl[PORT_HOST];
  assign c_data[PORT_BOUNDARY] = c3_data_i;
  assign mrx3_data_o = mrx_data[PORT_BOUNDARY];
  assign mrx3_ctl_o = mrx_ctl[PORT_BOUNDARY];

  logic [3:0] l_valid, l_sof, l_eof, l_pop;
  logic [255:0] l_data;
  logic [1:0] trip, lane_busy, stat_busy;
  logic out_of_ring, silent, outbox_busy;
  assign out_of_ring = bypassed_o != 2'b00;
  // A lane waits for the end of a frame that the GPU has begun; what it has not begun outside the ring must not.
  assign silent = out_of_ring || bypass_i || lent_i;
  assign trip_o = trip != 2'b00;
  assign busy_o = lane_busy != 2'b00 || stat_busy != 2'b00 || outbox_busy
      || mrx2_ctl_o[0] || mrx3_ctl_o[0];

  // Lane d: received at port d, sent by the other one.
  for (genvar d = 0; d < 2; d++) begin : g_lane
    localparam int OUT = 1 - d;
    logic g_valid, g_sof, g_eof, g_bad, g_marked, k_ack, k_last, k_valid, k_sof, k_eof, k_bad, k_flip, switching;
    logic m_valid, m_sof, m_eof, m_bad;
    logic [63:0] g_data, k_data;

    lane_control u_lane (
        .clk_i,
        .rst_i,
        .now_i,
        .watchdog_i,
        .bypass_i,
        .bypassed_o(bypassed_o[d]),
        .switching_o(switching),
        .trip_o(trip[d]),
        .c_valid_i(c_valid_i[d]),
        .c_sof_i(c_sof_i[d]),
        .c_eof_i(c_eof_i[d]),
        .c_bad_i(c_bad_i[d]),
        .c_marked_i(c_marked_i[d]),
        .c_data_i(c_data[d]),
        .g_valid_o(g_valid),
        .g_sof_o(g_sof),
        .g_eof_o(g_eof),
        .g_bad_o(g_bad),
        .g_marked_o(g_marked),
        .g_data_o(g_data),
        .k_ack_i(k_ack),
        .k_last_i(k_last),
        .k_valid_i(k_valid),
        .k_sof_i(k_sof),
        .k_eof_i(k_eof),
        .k_bad_i(k_bad),
        .k_flip_i(k_flip),
        .k_data_i(k_data),
        .l_valid_i(l_valid[d]),
        .l_sof_i(l_sof[d]),
        .l_eof_i(l_eof[d]),
        .l_data_i(l_data[64*d+:64]),
        .l_pop_o(l_pop[d]),
        .o_valid_o(o_valid_o[OUT]),
        .o_sof_o(o_sof_o[OUT]),
        .o_eof_o(o_eof_o[OUT]),
        .o_bad_o(o_bad_o[OUT]),
        .o_flip_o(o_flip_o[OUT]),
        .o_data_o(o_data_o[OUT]),
        .ttl_dropped_o(ttl_dropped_o[d]),
        .overflowed_o(overflowed_o[d]),
        .busy_o(lane_busy[d])
    );

    stat_unit #(
        .PORT2(d == PORT_P2)
    ) u_stat (
        .clk_i,
        .rst_i,
        .flush_i(bypassed_o[d]),
        .hold_i(switching),
        .frozen_i,
        .fault_i,
        .now_i(now_i[7:0]),
        .card_id_i,
        .node_id_i,
        .monitor_i,
        .entry_capable_i,
        .boundary_i,
        .gpu_type_i,
        .weight_i,
        .errors_i(errors_i[d]),
        .peer_i,
        .valid_i(g_valid),
        .sof_i(g_sof),
        .eof_i(g_eof),
        .bad_i(g_bad),
        .marked_i(g_marked),
        .data_i(g_data),
        .ack_o(k_ack),
        .last_o(k_last),
        .valid_o(k_valid),
        .sof_o(k_sof),
        .eof_o(k_eof),
        .bad_o(k_bad),
        .flip_o(k_flip),
        .data_o(k_data),
        .m_valid_o(m_valid),
        .m_sof_o(m_sof),
        .m_eof_o(m_eof),
        .m_bad_o(m_bad),
        .m_data_o(mrx_data[d]),
        .counted_o(counted_o[d]),
        .purged_o(purged_o[d]),
        .busy_o(stat_busy[d])
    );
    assign mrx_ctl[d] = {m_bad, m_eof, m_sof, m_valid};
  end

  for (genvar p = PORT_HOST; p <= PORT_BOUNDARY; p++) begin : g_outside
    logic mail;
    logic [63:0] data_q;
    logic [ 3:0] ctl_q;
    assign mail = c_valid_i[p] && !frozen_i && !out_of_ring;
    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        data_q <= 64'h0;
        ctl_q  <= 4'h0;
      end else begin
        data_q <= mail ? c_data[p] : 64'h0;
        ctl_q  <= mail ? {c_bad_i[p], c_eof_i[p], c_sof_i[p], 1'b1} : 4'h0;
      end
    end
    assign mrx_data[p] = data_q;
    assign mrx_ctl[p]  = ctl_q;
    assign l_pop[p]      = l_valid[p];
    assign o_valid_o[p] = l_valid[p];
    assign o_sof_o[p]   = l_sof[p];
    assign o_eof_o[p]   = l_eof[p];
    assign o_bad_o[p]   = 1'b0;
    assign o_flip_o[p]  = 1'b0;
    assign o_data_o[p]  = l_data[64*p+:64];
  end

  outbox #(
      .FAULTS(FAULTS)
  ) u_outbox (
      .clk_i,
      .rst_i,
      .frozen_i,
      .babble_i(fault_i[FAULT_BABBLE]),
      .lose_i(fault_i[FAULT_KEEPALIVE_LOSS]),
      .clear_i({silent, silent, bypassed_o}),
      .card_id_i,
      .node_id_i,
      .ring_size_i,
      .now_i,
      .allowance_i,
      .period_i(allowance_period_i),
      .m_valid_i(mtx_valid_i),
      .m_sof_i(mtx_sof_i),
      .m_eof_i(mtx_eof_i),
      .m_port_i(mtx_port_i),
      .m_data_i(mtx_data_i),
      .m_ready_o(mtx_ready_o),
      .muted_o,
      .mute_o,
      .wake_at_o(mute_wake_at_o),
      .valid_o(l_valid),
      .sof_o(l_sof),
      .eof_o(l_eof),
      .data_o(l_data),
      .pop_i(l_pop),
      .busy_o(outbox_busy)
  );
endmodule
