// stream_arbiter: what comes out is the flit of one stream, that stream alone is popped, and the frame in hand is
// finished before another begins. Nothing is made up, lost, doubled or interleaved.
module arbiter (
    input logic         clk_i,
    input logic         rst_i,
    input logic [  3:0] want_i,
    input logic [  3:0] may_start_i,
    input logic [  3:0] sof_i,
    input logic [  3:0] eof_i,
    input logic [  3:0] bad_i,
    input logic [255:0] data_i,
    input logic         ready_i
);
  logic [3:0] pop_o;
  logic valid_o, sof_o, eof_o, bad_o;
  logic [63:0] data_o;
  stream_arbiter dut (.*);

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb assume (started_q || rst_i);

  // Seen from outside: the stream whose frame has begun and not ended.
  logic open_q;
  logic [1:0] owner_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) open_q <= 1'b0;
    else if (pop_o != 4'h0) open_q <= !eof_o;
    for (int s = 0; s < 4; s++) if (pop_o[s]) owner_q <= 2'(s);
  end

  always_comb begin
    if (started_q && !rst_i) begin
      assert ((pop_o & (pop_o - 4'h1)) == 4'h0);
      assert ((pop_o != 4'h0) == (valid_o && ready_i));
      for (int s = 0; s < 4; s++) begin
        if (pop_o[s]) begin
          assert (want_i[s]);
          assert ({sof_o, eof_o, bad_o} == {sof_i[s], eof_i[s], bad_i[s]});
          assert (data_o == data_i[64*s+:64]);
          assert (open_q ? owner_q == 2'(s) : may_start_i[s]);
        end
      end
      // Nobody waits behind an idle output.
      if (!open_q && (want_i & may_start_i) != 4'h0) assert (valid_o);
      // Helper: the ghost is the arbiter's own state.
      assert (dut.locked_q == open_q);
      if (open_q) assert (dut.select_q == owner_q);
    end
  end
endmodule
