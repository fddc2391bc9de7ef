// frame_queue: a frame shows only when it is whole; what shows is what was pushed, in order, each flit once, and whole
// frames only, whatever is pushed. A frame without an end when the next one begins is dropped, and so is one that is
// longer than the queue.
module mailqueue (
    input logic        clk_i,
    input logic        rst_i,
    input logic        clear_i,
    input logic        push_i,
    input logic        sof_i,
    input logic        eof_i,
    input logic [63:0] data_i,
    input logic        pop_i,
    input logic        watch_i,
    input logic [ 4:0] where_i   // any place of the queue
);
  logic ready_o, valid_o, sof_o, eof_o, busy_o;
  logic [63:0] data_o;
  frame_queue dut (.*);

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb begin
    assume (started_q || rst_i);
    assume (!pop_i || valid_o);
  end

  // Flits held, and how many of them belong to whole frames; any one of them, watched; whether a frame is leaving.
  logic [5:0] held_q, kept, whole_q, ahead_q;
  logic open_q, taken, watching_q, leaving_q;
  logic [65:0] flit_q;
  assign taken = push_i && ready_o && (sof_i || open_q);
  assign kept  = taken && sof_i ? whole_q : held_q;  // a frame without an end makes room
  always_ff @(posedge clk_i) begin
    if (rst_i || clear_i) begin
      held_q     <= 6'd0;
      whole_q    <= 6'd0;
      open_q     <= 1'b0;
      watching_q <= 1'b0;
      leaving_q  <= 1'b0;
    end else begin
      if (pop_i) leaving_q <= !eof_o;
      if (!ready_o && open_q && whole_q == 6'd0) begin
        // Longer than the queue: dropped.
        held_q <= 6'd0;
        open_q <= 1'b0;
        watching_q <= 1'b0;
      end else begin
        held_q <= kept + 6'(taken) - 6'(pop_i);
        if (taken) open_q <= !eof_i;
        whole_q <= taken && eof_i ? kept + 6'd1 - 6'(pop_i) : whole_q - 6'(pop_i);
        if (!watching_q && watch_i && taken) begin
          watching_q <= 1'b1;
          ahead_q    <= kept - 6'(pop_i);
          flit_q     <= {sof_i, eof_i, data_i};
        end else begin
          if (pop_i) ahead_q <= ahead_q - 6'd1;
          if (pop_i && ahead_q == 6'd0 || ahead_q >= kept) watching_q <= 1'b0;
        end
      end
    end
  end

  // where_q stands for every place, so what is asserted of it held of the flit after the head in the cycle before.
  logic [4:0] where_q, next, place, from_head, last;
  logic next_ok_q;
  always_ff @(posedge clk_i) begin
    if (!started_q) where_q <= where_i;
    next_ok_q <= rst_i || held_q < 6'd2 || dut.tag_q[next][1] == dut.tag_q[dut.rd_q[4:0]][0];
  end
  always_comb assume (!started_q || next_ok_q);

  assign next      = dut.rd_q[4:0] + 5'd1;
  assign place     = dut.rd_q[4:0] + ahead_q[4:0];
  assign from_head = where_q - dut.rd_q[4:0];
  assign last      = dut.wr_q[4:0] - 5'd1;
  always_comb begin
    if (started_q && !rst_i) begin
      assert (held_q <= 6'd32 && whole_q <= held_q);
      assert (valid_o == (whole_q != 6'd0));
      assert (ready_o == (held_q != 6'd32));
      if (valid_o) assert (sof_o == !leaving_q);
      // Once begun, a frame is there to its end.
      if (leaving_q) assert (valid_o);
      if (watching_q) begin
        assert (ahead_q < held_q);
        if (valid_o && ahead_q == 6'd0) assert ({sof_o, eof_o, data_o} == flit_q);
        assert ({dut.tag_q[place], dut.mem_q[place]} == flit_q);
      end
      // Helpers.
      assert (held_q == dut.wr_q - dut.rd_q);
      assert (whole_q == dut.whole_q - dut.rd_q);
      assert (open_q == dut.open_q && open_q == (held_q != whole_q));
      // Each beginning follows an end, and the last flit in is an end unless its frame is open.
      if (held_q != 6'd0) assert (dut.tag_q[last][0] == !open_q && (leaving_q || dut.tag_q[dut.rd_q[4:0]][1]));
      if (leaving_q && held_q != 6'd0) assert (!dut.tag_q[dut.rd_q[4:0]][1]);
      if (open_q) assert (dut.tag_q[dut.whole_q[4:0]][1]);
      if (whole_q != 6'd0) assert (dut.tag_q[5'(dut.whole_q[4:0]-5'd1)][0]);
      if ({1'b0, from_head} < held_q && from_head != 5'd0)
        assert (dut.tag_q[where_q][1] == dut.tag_q[5'(where_q-5'd1)][0]);
    end
  end
endmodule
