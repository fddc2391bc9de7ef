// data_route of a ring lane: each flit goes one way or none, the same for the whole frame. What goes on round the ring
// has a TTL above 0 and leaves with one less; nothing else of the frame changes. With TTL 0 it never stays in the ring;
// a frame of a single flit goes nowhere.
module route
  import ringhil_pkg::*;
(
    input logic        clk_i,
    input logic        rst_i,
    input logic        bypassed_i,
    input logic        entry_i,
    input logic        boundary_i,
    input logic        from_above_i,
    input logic [15:0] crossings_i,
    input logic [15:0] exits_i,
    input logic [ 7:0] card_id_i,
    input logic [15:0] node_id_i,
    input logic [15:0] ring_size_i,
    input logic        valid_i,
    input logic        eof_i,
    input logic [63:0] data_i,
    input logic        ready_i
);
  logic pop_o, dropped_o, expired_o, stalled_o, sof_i;
  logic [4:0] want_o, pop_i;
  logic [63:0] data_o, expected;
  data_route dut (.*);

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb assume (started_q || rst_i);

  // The buffer shows whole frames (proofs `framing`, `buffer`); an arbiter takes only what wants to go its way.
  logic open_q;
  logic [4:0] way_q;
  assign sof_i = !open_q;
  assign pop_i = ready_i ? want_o : 5'h0;
  always_ff @(posedge clk_i) begin
    if (rst_i) open_q <= 1'b0;
    else if (valid_i && pop_o) open_q <= !eof_i;
    if (pop_o) way_q <= want_o;
  end

  logic mine;
  assign mine = data_i[55:48] == card_id_i && data_i[15:0] == node_id_i;
  always_comb begin
    expected = data_i;
    if (sof_i && !mine) expected[31:16] = data_i[31:16] - 16'h1;
    if (started_q && !rst_i) begin
      assert ((want_o & (want_o - 5'h1)) == 5'h0);
      assert (!pop_o || valid_i);
      if (want_o != 5'h0) begin
        assert (data_o == expected && !(sof_i && eof_i));
        if (open_q) assert (want_o == way_q);
        else if (want_o[1:0] != 2'b00) assert (data_i[31:16] != 16'h0 && !mine && want_o == 5'b00001);
      end else if (valid_i) assert (pop_o && (!open_q || way_q == 5'h0));
      assert (dut.open_q == open_q);
      if (open_q) assert (dut.to_q == way_q && (way_q & (way_q - 5'h1)) == 5'h0);
    end
  end
endmodule
