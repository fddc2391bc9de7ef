// lane_control with its GPU's stat_unit, in every state and under every switch-over: each frame that leaves whole is
// one that came in (or a local one), and none leaves whole twice. So no frame is doubled or made up.
//
// One flit, any one, is watched from its arrival on. Only a frame's last flit can end a frame that leaves, and once.
module lane
  import ringhil_pkg::*;
(
    input logic                        clk_i,
    input logic                        rst_i,
    input logic [                63:0] now_i,
    input logic [                31:0] watchdog_i,
    input logic                        bypass_i,
    input logic                        frozen_i,
    input logic [FAULT_PORT_WIDTH-1:0] fault_i,
    input logic [                 7:0] card_id_i,
    input logic [                15:0] node_id_i,
    input logic                        monitor_i,
    input logic                        c_valid_i,
    input logic                        c_sof_i,
    input logic                        c_eof_i,
    input logic                        c_bad_i,
    input logic                        c_marked_i,
    input logic [                63:0] c_data_i,
    input logic                        l_valid_i,
    input logic                        l_sof_i,
    input logic                        l_eof_i,
    input logic [                63:0] l_data_i,
    input logic                        watch_i
);
  logic bypassed, switching, trip_o, l_pop, ttl_dropped_o, overflowed_o, busy_o;
  logic g_valid, g_sof, g_eof, g_bad, g_marked, k_ack, k_last, k_valid, k_sof, k_eof, k_bad, k_flip;
  logic o_valid, o_sof, o_eof, o_bad, o_flip, m_valid, m_sof, m_eof, m_bad;
  logic [63:0] g_data, k_data, o_data, m_data;

  lane_control dut (
      .bypassed_o(bypassed), .switching_o(switching), .g_valid_o(g_valid), .g_sof_o(g_sof), .g_eof_o(g_eof),
      .g_bad_o(g_bad), .g_marked_o(g_marked), .g_data_o(g_data), .k_ack_i(k_ack), .k_last_i(k_last),
      .k_valid_i(k_valid), .k_sof_i(k_sof), .k_eof_i(k_eof), .k_bad_i(k_bad), .k_flip_i(k_flip), .k_data_i(k_data),
      .l_pop_o(l_pop), .o_valid_o(o_valid), .o_sof_o(o_sof), .o_eof_o(o_eof), .o_bad_o(o_bad), .o_flip_o(o_flip),
      .o_data_o(o_data), .*
  );
  stat_unit gpu (
      .flush_i(bypassed), .hold_i(switching), .now_i(now_i[7:0]), .entry_capable_i(1'b0), .boundary_i(1'b0),
      .gpu_type_i(8'h0), .weight_i(16'h0), .errors_i(8'h0), .peer_i(8'h0), .valid_i(g_valid), .sof_i(g_sof),
      .eof_i(g_eof), .bad_i(g_bad), .marked_i(g_marked), .data_i(g_data), .ack_o(k_ack), .last_o(k_last),
      .valid_o(k_valid), .sof_o(k_sof), .eof_o(k_eof), .bad_o(k_bad), .flip_o(k_flip), .data_o(k_data),
      .m_valid_o(m_valid), .m_sof_o(m_sof), .m_eof_o(m_eof), .m_bad_o(m_bad), .m_data_o(m_data), .counted_o(),
      .purged_o(), .busy_o(), .*
  );

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb assume (started_q || rst_i);

  // The watched flit, its place in the buffer, and whether a frame has left by it.
  logic watching_q, gone_q, go, switching_q;
  logic [7:0] place_q;
  logic [67:0] flit_q;
  logic [7:0] held, read, ahead;  // counted from the oldest flit kept
  assign held  = dut.wr_q - dut.base_q;
  assign read  = dut.rd_q - dut.base_q;
  assign ahead = place_q - dut.base_q;
  always_ff @(posedge clk_i) switching_q <= started_q && !rst_i && switching;

  // The frame that now ends whole, through the GPU (ring, mailbox or purged) or past it; and its flit of the buffer.
  logic ends_through, ends_past, ends;
  logic [7:0] which;
  assign ends_through = k_ack && k_last && !dut.switch_off && !bypassed;
  assign ends_past = bypassed && dut.pass && dut.head_eof;
  assign ends  = ends_through || ends_past;
  assign which = ends_past ? dut.rd_q : dut.rd_q - 8'd1;
  assign go    = ends && watching_q && which == place_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      watching_q <= 1'b0;
      gone_q     <= 1'b0;
    end else begin
      if (!watching_q && watch_i && dut.write) begin
        watching_q <= 1'b1;
        place_q    <= dut.wr_q;
        flit_q     <= {c_sof_i, c_eof_i, c_bad_i || dut.clip_q, c_marked_i, c_data_i};
        // Straight past the GPU in the same cycle.
        gone_q     <= ends_past && dut.rd_q == dut.wr_q;
      end
      if (go) gone_q <= 1'b1;
      // Its place is used again: another frame may come to lie there.
      if (watching_q && dut.wr_q == place_q + 8'd128) watching_q <= 1'b0;
    end
  end

`ifdef MAILBOX
  // What reaches the mailbox whole has left the lane for good.
  logic ended_q;
  always_ff @(posedge clk_i) ended_q <= ends_through;
  always_comb if (started_q && !rst_i && m_valid && m_eof && !m_bad) assert (ended_q);
`endif

  logic good;
  assign good = o_valid && o_eof && !o_bad && !l_pop;
  always_comb begin
    if (started_q && !rst_i) begin
      // A frame of the ring that leaves whole is the end of one that came in, and lies in the buffer or comes just now.
      if (good) assert (ends);
      if (ends) assert (8'(which - dut.base_q) <= held);
      if (ends_past) assert (which != dut.wr_q || (dut.write && c_eof_i));
      if (ends_through) assert (which != dut.wr_q);
      // None twice, and what leaves is what came.
      if (go) begin
        assert (!gone_q && flit_q[66]);
        if (ends_past) assert ({o_eof, o_bad} == flit_q[66:65] && (o_data == flit_q[63:0] || flit_q[67]));
        if (good && ends_through) assert (o_bad == flit_q[65] && (o_data == flit_q[63:0] || gpu.index_q < 3'd3));
      end
      // Assumed in proof `count`: the GPU gets a flit only when it is done with the one before, and is cut off in the
      // cycle after the held one.
      if (g_valid) assert (!gpu.valid_q || k_ack);
      if (switching_q) assert (bypassed);

      // Helpers.
      assert (held <= 8'd128 && read <= held);
      assert (dut.handed_q == (gpu.valid_q && !bypassed));
      if (bypassed) assert (!dut.handed_q);
      if (!bypassed) assert (!(dut.drop_q && (dut.handed_q || dut.open_q)));
      if (dut.local_q) assert (!bypassed && !dut.handed_q && !dut.open_q && !dut.drop_q);
      if (dut.handed_q) begin
        assert (read != 8'd0);
        assert (!gpu.sof_q || gpu.index_q == 3'd0);
        if (watching_q && 8'(dut.rd_q - 8'd1) == place_q)
          assert ({gpu.sof_q, gpu.eof_q, gpu.bad_q} == flit_q[67:65] && (gpu.data_q == flit_q[63:0] || flit_q[67]));
      end
      if (watching_q) begin
        if (gone_q) assert (ahead >= held);
        assert (8'(dut.wr_q - place_q - 8'd1) < 8'd128);
        if (ahead < held) assert ({dut.tag_q[place_q[6:0]], dut.mem_q[place_q[6:0]]} == flit_q);
      end
    end
  end
endmodule
