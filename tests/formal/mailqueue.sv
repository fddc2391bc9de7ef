// frame_queue: a frame shows only when it is whole; what shows is what was pushed, in order, each flit once.
module mailqueue (
    input logic        clk_i,
    input logic        rst_i,
    input logic        clear_i,
    input logic        push_i,
    input logic        sof_i,
    input logic        eof_i,
    input logic [63:0] data_i,
    input logic        pop_i,
    input logic        watch_i
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

  // Flits held, and how many of them belong to whole frames; any one of them, watched.
  logic [5:0] held_q, whole_q, ahead_q;
  logic open_q, taken, watching_q;
  logic [65:0] flit_q;
  assign taken = push_i && ready_o && (sof_i || open_q);
  always_ff @(posedge clk_i) begin
    if (rst_i || clear_i) begin
      held_q     <= 6'd0;
      whole_q    <= 6'd0;
      open_q     <= 1'b0;
      watching_q <= 1'b0;
    end else begin
      if (!ready_o && open_q && whole_q == 6'd0) begin
        // Longer than the queue: dropped.
        held_q <= 6'd0;
        open_q <= 1'b0;
        watching_q <= 1'b0;
      end else begin
        held_q <= held_q + 6'(taken) - 6'(pop_i);
        if (taken) open_q <= !eof_i;
        whole_q <= taken && eof_i ? held_q + 6'd1 - 6'(pop_i) : whole_q - 6'(pop_i);
        if (!watching_q && watch_i && taken) begin
          watching_q <= 1'b1;
          ahead_q    <= held_q - 6'(pop_i);
          flit_q     <= {sof_i, eof_i, data_i};
        end else if (pop_i) begin
          ahead_q <= ahead_q - 6'd1;
          if (ahead_q == 6'd0) watching_q <= 1'b0;
        end
      end
    end
  end

  logic [4:0] place;
  assign place = dut.rd_q[4:0] + ahead_q[4:0];
  always_comb begin
    if (started_q && !rst_i) begin
      assert (held_q <= 6'd32 && whole_q <= held_q);
      assert (valid_o == (whole_q != 6'd0));
      assert (ready_o == (held_q != 6'd32));
      if (watching_q) begin
        assert (ahead_q < held_q);
        if (valid_o && ahead_q == 6'd0) assert ({sof_o, eof_o, data_o} == flit_q);
        assert ({dut.tag_q[place], dut.mem_q[place]} == flit_q);
      end
      assert (held_q == dut.wr_q - dut.rd_q);
      assert (whole_q == dut.whole_q - dut.rd_q);
      assert (open_q == dut.open_q);
    end
  end
endmodule
