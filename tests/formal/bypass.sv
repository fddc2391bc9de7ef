// A bypassed lane is a wire: as long as lane_control stands in BYPASS with its buffer drained, each flit leaves in the
// cycle in which it comes, unchanged but for the TTL of the first one, which is one less; a frame with TTL 0 is taken
// off whole, and so is one of a single flit, which has none. The link adds one cycle (proof `transmitter`).
module bypass
(
    input logic        clk_i,
    input logic        rst_i,
    input logic [63:0] now_i,
    input logic [31:0] watchdog_i,
    input logic        bypass_i,
    input logic        c_valid_i,
    input logic        c_sof_i,
    input logic        c_eof_i,
    input logic        c_bad_i,
    input logic        c_marked_i,
    input logic [63:0] c_data_i,
    input logic        k_ack_i,
    input logic        k_last_i,
    input logic        k_valid_i,
    input logic        k_sof_i,
    input logic        k_eof_i,
    input logic        k_bad_i,
    input logic        k_flip_i,
    input logic [63:0] k_data_i,
    input logic        l_valid_i,
    input logic        l_sof_i,
    input logic        l_eof_i,
    input logic [63:0] l_data_i,
    input logic [ 6:0] where_i   // any place of the buffer
);
  logic bypassed_o, switching_o, trip_o, g_valid_o, g_sof_o, g_eof_o, g_bad_o, g_marked_o, l_pop_o;
  logic o_valid_o, o_sof_o, o_eof_o, o_bad_o, o_flip_o, ttl_dropped_o, overflowed_o, busy_o;
  logic [63:0] g_data_o, o_data_o;
  lane_control dut (.*);

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  logic in_frame_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) in_frame_q <= 1'b0;
    else if (c_valid_i) in_frame_q <= !c_eof_i;
  end
  always_comb begin
    assume (started_q || rst_i);
    assume (!c_valid_i || c_sof_i == !in_frame_q);  // whole frames (proof `framing`)
  end

  // From the first cycle between two frames on in which the lane is bypassed and has nothing left of before.
  logic wire_q, is_wire, taken_off_q, off;
  logic [63:0] expected;
  assign is_wire = bypassed_o && bypass_i && (wire_q || (!in_frame_q && !busy_o));
  assign off = c_sof_i ? c_eof_i || c_data_i[31:16] == 16'h0 : taken_off_q;
  always_comb begin
    expected = c_data_i;
    if (c_sof_i) expected[31:16] = c_data_i[31:16] - 16'h1;
  end
  always_ff @(posedge clk_i) begin
    wire_q <= !rst_i && is_wire;
    if (c_valid_i) taken_off_q <= off;
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
      if (is_wire) begin
        assert (o_valid_o == (c_valid_i && !off));
        if (o_valid_o) assert ({o_sof_o, o_eof_o, o_bad_o, o_data_o} == {c_sof_i, c_eof_i, c_bad_i, expected});
        assert (ttl_dropped_o == (c_valid_i && c_sof_i && off));
        assert (!g_valid_o && !l_pop_o && !o_flip_o && !overflowed_o);
        assert (dut.wr_q == dut.rd_q && dut.rd_q == dut.base_q);
      end
      // Helpers: the buffer holds whole frames, but for the one that is being written.
      writing = in_frame_q && !dut.skip_q;
      last    = dut.wr_q - 8'd1;
      if (!in_frame_q) assert (!dut.skip_q && !dut.clip_q);
      if (writing) assert (held < 8'd128);
      else begin
        if (held != 8'd0) assert (dut.tag_q[last[6:0]][2]);
        if (dut.rd_q == dut.wr_q) assert (!dut.open_q && !dut.drop_q);
      end
      // A beginning follows an end, and is read when the frame before has been.
      if ({1'b0, 7'(where_q - base)} < held && dut.tag_q[where_q][3]) begin
        if (where_q != base) assert (dut.tag_q[7'(where_q-7'd1)][2]);
        if (dut.rd_q[6:0] == where_q && dut.rd_q != dut.wr_q) assert (!dut.open_q && !dut.drop_q);
      end
      assert (held <= 8'd128 && 8'(dut.rd_q - dut.base_q) <= held);
      assert (!(dut.drop_q && dut.open_q));
      if (dut.drop_q || dut.bypass_q) assert (dut.base_q == dut.rd_q);
      if (bypassed_o) assert (!dut.handed_q && !dut.local_q);
      if (!bypassed_o) assert (!(dut.drop_q && dut.handed_q));
      if (dut.local_q) assert (!dut.handed_q && !dut.open_q && !dut.drop_q);
      if (wire_q && bypassed_o) assert (!dut.skip_q && !dut.clip_q);
      if (wire_q && bypassed_o && in_frame_q) assert (dut.drop_q == taken_off_q && dut.open_q == !taken_off_q);
      if (wire_q && bypassed_o && !in_frame_q) assert (!dut.drop_q && !dut.open_q);
      if (wire_q) assert (bypassed_o && dut.wr_q == dut.rd_q && dut.rd_q == dut.base_q);
    end
  end
endmodule
