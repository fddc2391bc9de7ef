// Receive buffer of the data channel: room for SLOTS whole frames, one credit each.
//
// The sender starts with SLOTS credits and spends one a frame, so the buffer cannot overrun; every frame
// that leaves earns the sender a credit (credit_o, one a cycle). At restart_i the sender forgets its credits
// and this side returns one for each slot that is then free. A frame longer than DATA_FRAME_FLITS is cut
// short and marked bad; one that comes without a credit is dropped. First word falls through.
module data_fifo
  import ringhil_pkg::*;
#(
    parameter int SLOTS = DATA_SLOTS
) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        restart_i,
    input  logic        valid_i,
    input  logic        sof_i,
    input  logic        eof_i,
    input  logic        bad_i,
    input  logic [63:0] data_i,
    input  logic        pop_i,
    output logic        valid_o,
    output logic        sof_o,
    output logic        eof_o,
    output logic        bad_o,
    output logic [63:0] data_o,
    output logic        credit_o,
    output logic        busy_o
);
  localparam int DEPTH = 128;
  localparam logic [2:0] SLOTS_L = 3'(SLOTS);
  localparam logic [6:0] LONGEST = 7'(DATA_FRAME_FLITS);

  logic [63:0] mem_q[DEPTH];
  logic [2:0] tag_q[DEPTH];
  logic [6:0] wr_q, rd_q, length_q, length_d;
  logic [2:0] frames_q, frames_d, owed_q, owed_d;
  logic skip_q, skip_d, long_q, long_d;
  logic push, accept, leave;

  // A frame may start when a slot is free; the flits beyond the longest frame are swallowed up to its end.
  assign accept = sof_i ? frames_q != SLOTS_L : !skip_q;
  assign push   = valid_i && accept && (eof_i || sof_i || !(long_q || length_q == LONGEST - 7'h1));
  assign leave  = pop_i && eof_o;
  always @* begin
    skip_d   = skip_q;
    long_d   = long_q;
    length_d = length_q;
    if (valid_i) begin
      if (sof_i) begin
        skip_d   = !accept;
        long_d   = 1'b0;
        length_d = 7'h1;
      end else begin
        length_d = length_q + 7'h1;
        if (length_q == LONGEST - 7'h1) long_d = 1'b1;
      end
    end
  end

  assign frames_d = frames_q + 3'(push && sof_i) - 3'(leave);

  always @* begin
    owed_d = owed_q + 3'(leave) - 3'(credit_o);
    if (restart_i) owed_d = SLOTS_L - frames_d;
  end

  assign valid_o = wr_q != rd_q;
  assign {sof_o, eof_o, bad_o} = tag_q[rd_q];
  assign data_o = mem_q[rd_q];
  assign credit_o = owed_q != 3'h0 && !restart_i;
  assign busy_o = valid_o || owed_q != 3'h0 || frames_q != 3'h0;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      wr_q     <= 7'h0;
      rd_q     <= 7'h0;
      length_q <= 7'h0;
      frames_q <= 3'h0;
      owed_q   <= 3'h0;
      skip_q   <= 1'b0;
      long_q   <= 1'b0;
    end else begin
      length_q <= length_d;
      frames_q <= frames_d;
      owed_q   <= owed_d;
      skip_q   <= skip_d;
      long_q   <= long_d;
      if (push) begin
        mem_q[wr_q] <= data_i;
        tag_q[wr_q] <= {sof_i, eof_i, bad_i || (long_q && !sof_i)};
        wr_q <= wr_q + 7'h1;
      end
      if (pop_i) rd_q <= rd_q + 7'h1;
    end
  end

`ifndef SYNTHESIS
  // No frame without a place, no overrun, no debt that isn't one.
  always @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!push || wr_q + 7'h1 != rd_q)
      else $fatal(1, "the buffer overruns");
      assert (!pop_i || valid_o)
      else $fatal(1, "a flit is taken that isn't there");
      assert (frames_q <= SLOTS_L && (!leave || frames_q != 3'h0))
      else $fatal(1, "frames are miscounted");
      assert (owed_q <= SLOTS_L)
      else $fatal(1, "more credits owed than places");
    end
  end
`endif
endmodule
