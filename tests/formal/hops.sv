// TTL ends every frame. The way of a control frame through a node, lane_control with its GPU or past it and link_tx,
// lowers this measure of its first flit in every state of the node, a dead link behind it included:
//
//   TTL, at most ring size + 1; and ring size + 2 more while the frame has never been turned round
//
// so a frame leaves at most 2 * (ring size + 2) nodes, in a ring of any size. A frame whose TTL is used up doesn't
// leave, nor does one of a single flit, which has no room for a TTL.
module hops
  import ringhil_pkg::*;
(
    input logic                        clk_i,
    input logic                        rst_i,
    input logic [                63:0] now_i,
    input logic [                31:0] watchdog_i,
    input logic                        bypass_i,
    input logic                        frozen_i,
    input logic                        loop_i,
    input logic                        active_i,
    input logic [                15:0] ring_size_i,
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
    input logic                        watch_i,
    input logic [                 6:0] where_i     // any place of the buffer
);
  logic bypassed, switching, trip_o, l_pop, ttl_dropped_o, overflowed_o, busy_o;
  logic g_valid, g_sof, g_eof, g_bad, g_marked, k_ack, k_last, k_valid, k_sof, k_eof, k_bad, k_flip;
  logic o_valid, o_sof, o_eof, o_bad, o_flip;
  logic [63:0] g_data, k_data, o_data, link_data;  // link: on the wire or heard, the one or the other
  logic [7:0] link_ctl;

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
      .valid_o(k_valid), .sof_o(k_sof), .eof_o(k_eof), .bad_o(k_bad), .flip_o(k_flip), .data_o(k_data), .m_valid_o(),
      .m_sof_o(), .m_eof_o(), .m_bad_o(), .m_data_o(), .counted_o(), .purged_o(), .busy_o(), .*
  );
  link_tx out (
      .silent_i(1'b0), .c_valid_i(o_valid), .c_sof_i(o_sof), .c_eof_i(o_eof), .c_bad_i(o_bad), .c_flip_i(o_flip),
      .c_data_i(o_data), .d_valid_i(1'b0), .d_sof_i(1'b0), .d_eof_i(1'b0), .d_bad_i(1'b0), .d_data_i(64'h0),
      .d_ready_o(), .credit_i(1'b0), .fault_i(1'b0), .data_o(), .ctl_o(), .heard_data_o(link_data),
      .heard_ctl_o(link_ctl), .busy_o(), .*
  );

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  logic [15:0] longest_q, longest;
  assign longest = ring_size_i + 16'h1;
  always_ff @(posedge clk_i) if (!started_q) longest_q <= longest;
  logic in_frame_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) in_frame_q <= 1'b0;
    else if (c_valid_i) in_frame_q <= !c_eof_i;
  end
  always_comb begin
    assume (started_q || rst_i);
    assume (!c_valid_i || c_sof_i == !in_frame_q);  // whole frames (proof `framing`)
    assume (longest != 16'h0 && (!started_q || longest == longest_q));  // a strap
    // What every transmitter keeps to: asserted below of this one.
    assume (!(c_valid_i && c_sof_i && !c_eof_i) || c_data_i[31:16] <= longest);
  end

  function automatic logic [17:0] measure(input logic [63:0] flit, input logic [15:0] most);
    measure = 18'(flit[31:16]) + (flit[32+FLAG_WRAPPED] ? 18'd0 : 18'(most) + 18'd1);
  endfunction

  // Any first flit that comes in, of a frame of more than one, watched; which flit of the buffer leaves now, and
  // whether it was the watched one.
  logic watching_q, leaves, left_q, sent_q, local_q;
  logic [7:0] place_q, which;
  logic [63:0] flit_q;
  logic [17:0] before_q;
  assign leaves = o_valid && o_sof && !l_pop;
  assign which  = bypassed ? dut.rd_q : dut.rd_q - 8'd1;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      watching_q <= 1'b0;
      left_q     <= 1'b0;
      sent_q     <= 1'b0;
    end else begin
      if (!watching_q && watch_i && dut.write && c_sof_i && !c_eof_i) begin
        watching_q <= 1'b1;
        place_q    <= dut.wr_q;
        flit_q     <= c_data_i;
      end else if (watching_q && dut.wr_q == place_q + 8'd128) watching_q <= 1'b0;
      // What goes out next: the watched flit, from the buffer or straight past it.
      left_q <= leaves && (watching_q && which == place_q || dut.write && which == dut.wr_q);
      before_q <= watching_q && which == place_q ? measure(flit_q, longest) : measure(c_data_i, longest);
      sent_q <= o_valid && o_sof;
    end
    local_q <= l_pop;
  end

  // where_q stands for every place, so what is asserted of it held of the head, too, in the cycle before.
  logic [6:0] where_q, base;
  logic head_ok_q;
  assign base = dut.base_q[6:0];
  always_ff @(posedge clk_i) begin
    if (!started_q) where_q <= where_i;
    head_ok_q <= rst_i || !(dut.stored && dut.tag_q[dut.rd_q[6:0]][3]) || (!dut.open_q && !dut.drop_q);
  end
  always_comb assume (!started_q || head_ok_q);

  logic [7:0] held, last;
  logic writing;
  assign held = dut.wr_q - dut.base_q;
  always_comb begin
    writing = 1'b0;
    last    = 8'd0;
    if (started_q && !rst_i) begin
      if (sent_q && !link_ctl[LINK_EOF]) assert (link_data[31:16] <= longest);
      if (left_q) assert (!link_ctl[LINK_EOF] && measure(link_data, longest) < before_q);
      if (leaves) assert (!o_eof);
      // Helpers: the buffer holds whole frames, but for the one that is being written.
      writing = in_frame_q && !dut.skip_q;
      last    = dut.wr_q - 8'd1;
      if (!in_frame_q) assert (!dut.skip_q && !dut.clip_q);
      if (writing) assert (held < 8'd128);
      else begin
        if (held != 8'd0) assert (dut.tag_q[last[6:0]][2]);
        if (dut.rd_q == dut.wr_q) assert (!dut.open_q && !dut.drop_q);
      end
      if (leaves) assert (which == dut.wr_q ? dut.write : 8'(which - dut.base_q) < held);
      // A beginning follows an end, and is read when the frame before has been.
      if ({1'b0, 7'(where_q - base)} < held && dut.tag_q[where_q][3]) begin
        if (where_q != base) assert (dut.tag_q[7'(where_q-7'd1)][2]);
        if (dut.rd_q[6:0] == where_q && dut.rd_q != dut.wr_q) assert (!dut.open_q && !dut.drop_q);
      end
      assert (held <= 8'd128 && 8'(dut.rd_q - dut.base_q) <= held);
      assert (!(dut.drop_q && dut.open_q));
      if (dut.drop_q || dut.bypass_q) assert (dut.base_q == dut.rd_q);
      assert (dut.handed_q == (gpu.valid_q && !bypassed));
      if (bypassed) assert (!dut.handed_q);
      if (!bypassed) assert (!(dut.drop_q && (dut.handed_q || dut.open_q)));
      if (dut.local_q) assert (!bypassed && !dut.handed_q && !dut.open_q && !dut.drop_q);
      if (dut.handed_q) begin
        assert (dut.rd_q != dut.base_q);
        assert (gpu.sof_q == (gpu.index_q == 3'd0) && !(gpu.sof_q && gpu.eof_q));
      end
      if (watching_q) begin
        assert (8'(dut.wr_q - place_q - 8'd1) < 8'd128);
        assert (flit_q[31:16] <= longest);
        if (8'(place_q - dut.base_q) < held) begin
          assert (dut.tag_q[place_q[6:0]][3:2] == 2'b10 && dut.mem_q[place_q[6:0]] == flit_q);
          if (dut.handed_q && 8'(dut.rd_q - 8'd1) == place_q)
            assert (gpu.sof_q && !gpu.eof_q && gpu.data_q == {flit_q[63:32], flit_q[31:16] - 16'h1, flit_q[15:0]}
                && flit_q[31:16] != 16'h0);
        end
      end
    end
  end
endmodule
