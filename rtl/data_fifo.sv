// Receive buffer of the data channel: room for SLOTS whole frames, one credit each. First word falls through; what comes
// in shows in the next cycle. What comes in is made of whole frames, from sof_i to eof_i.
//
// - The sender starts with SLOTS credits and spends one a frame, so the buffer cannot overrun. Every frame that leaves
//   earns the sender a credit: credit_o, one a cycle, from the next cycle on.
// - valid_i brings a flit, which is taken in its cycle or never. A frame that comes without a credit is dropped; one of
//   more than FLITS flits is cut short to that and its last flit marked bad. Whether a slot is free is asked when the
//   frame begins; a frame that leaves in that very cycle still has its slot.
// - pop_i takes the flit that shows, only while valid_o is high; valid_i and pop_i in one cycle are both carried out.
//   While valid_o is low the other outputs of the flit say nothing.
// - restart_i: the sender forgets its credits, and this side returns one for each slot that is free behind this cycle,
//   whatever begins or leaves in it. No credit is given in a cycle of restart_i. Frames stay.
// - busy_o: a frame is here or a credit is owed.
module data_fifo
  import ringhil_pkg::*;
#(
    parameter int SLOTS = DATA_SLOTS,        // frames, and so the sender's credits
    parameter int FLITS = DATA_FRAME_FLITS,  // of the longest frame, 2 at least
    parameter int WIDTH = 64                 // bits of a flit
) (
    input  logic             clk_i,
    input  logic             rst_i,
    input  logic             restart_i,
    input  logic             valid_i,
    input  logic             sof_i,
    input  logic             eof_i,
    input  logic             bad_i,
    input  logic [WIDTH-1:0] data_i,
    input  logic             pop_i,
    output logic             valid_o,
    output logic             sof_o,
    output logic             eof_o,
    output logic             bad_o,
    output logic [WIDTH-1:0] data_o,
    output logic             credit_o,
    output logic             busy_o
);
  localparam int AT = $clog2(SLOTS * FLITS + 1);  // bits of a place: one stays free, so full isn't empty
  localparam int COUNT = $clog2(SLOTS + 2);  // bits of a number of frames; one too many shows
  localparam logic [COUNT-1:0] SLOTS_L = COUNT'(SLOTS);
  localparam logic [AT-1:0] LONGEST = AT'(FLITS);

  logic [WIDTH-1:0] mem_q[1<<AT];
  logic [2:0] tag_q[1<<AT];
  logic [AT-1:0] wr_q, rd_q, length_q, length_d;
  logic [COUNT-1:0] frames_q, frames_d, owed_q, owed_d;
  logic skip_q, skip_d, long_q, long_d;
  logic push, accept, leave;

  // A frame may start when a slot is free; the flits beyond the longest frame are swallowed up to its end.
  assign accept = sof_i ? frames_q != SLOTS_L : !skip_q;
  assign push   = valid_i && accept && (eof_i || sof_i || !(long_q || length_q == LONGEST - 1'b1));
  assign leave  = pop_i && eof_o;
  always @* begin
    skip_d   = skip_q;
    long_d   = long_q;
    length_d = length_q;
    if (valid_i) begin
      if (sof_i) begin
        skip_d   = !accept;
        long_d   = 1'b0;
        length_d = AT'(1);
      end else begin
        length_d = length_q + 1'b1;
        if (length_q == LONGEST - 1'b1) long_d = 1'b1;
      end
    end
  end

  assign frames_d = frames_q + COUNT'(push && sof_i) - COUNT'(leave);

  always @* begin
    owed_d = owed_q + COUNT'(leave) - COUNT'(credit_o);
    if (restart_i) owed_d = SLOTS_L - frames_d;
  end

  assign valid_o = wr_q != rd_q;
  assign {sof_o, eof_o, bad_o} = tag_q[rd_q];
  assign data_o = mem_q[rd_q];
  assign credit_o = owed_q != '0 && !restart_i;
  assign busy_o = valid_o || owed_q != '0 || frames_q != '0;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      wr_q     <= '0;
      rd_q     <= '0;
      length_q <= '0;
      frames_q <= '0;
      owed_q   <= '0;
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
        wr_q <= wr_q + 1'b1;
      end
      if (pop_i) rd_q <= rd_q + 1'b1;
    end
  end

`ifndef SYNTHESIS
  // No frame without a place, no overrun, no debt that isn't one.
  always @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!push || wr_q + 1'b1 != rd_q)
      else $fatal(1, "the buffer overruns");
      assert (!pop_i || valid_o)
      else $fatal(1, "a flit is taken that isn't there");
      assert (frames_q <= SLOTS_L && (!leave || frames_q != '0))
      else $fatal(1, "frames are miscounted");
      assert (owed_q <= SLOTS_L)
      else $fatal(1, "more credits owed than places");
    end
  end
`endif
endmodule
