// Whole units that wait for the compute engine, and the one it works on: 2**LOG2 places, first in, first out. First word
// falls through; what comes in shows in the next cycle.
//
// - push_i only while full_o is low, also when pop_i makes room in the same cycle; pop_i takes the unit that shows, only
//   while count_o is not 0. push_i and pop_i in one cycle are both carried out; the count stays.
// - Whom to answer (reply_i), digest and length belong together: they are kept and shown as they came.
// - rst_i goes first. While frozen_i nothing moves. What shows while count_o is 0 says nothing.
module work_queue
  import ringhil_pkg::*;
#(
    parameter int LOG2 = 2  // 1 at least
) (
    input  logic                  clk_i,
    input  logic                  rst_i,
    input  logic                  frozen_i,
    input  logic                  push_i,
    input  logic [REPLY_BITS-1:0] reply_i,
    input  logic [          63:0] digest_i,
    input  logic [          31:0] length_i,  // bytes
    input  logic                  pop_i,
    output logic [        LOG2:0] count_o,
    output logic                  full_o,
    output logic [REPLY_BITS-1:0] reply_o,
    output logic [          63:0] digest_o,
    output logic [          31:0] length_o
);
  localparam logic [LOG2:0] PLACES = {1'b1, {LOG2{1'b0}}};

  logic [REPLY_BITS-1:0] reply_q[1<<LOG2];
  logic [63:0] digest_q[1<<LOG2];
  logic [31:0] length_q[1<<LOG2];
  logic [LOG2-1:0] head_q, tail_q;
  logic [LOG2:0] count_q;

  assign count_o  = count_q;
  assign full_o   = count_q == PLACES;
  assign reply_o  = reply_q[head_q];
  assign digest_o = digest_q[head_q];
  assign length_o = length_q[head_q];

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      head_q  <= '0;
      tail_q  <= '0;
      count_q <= '0;
    end else if (!frozen_i) begin
      count_q <= count_q + (LOG2 + 1)'(push_i) - (LOG2 + 1)'(pop_i);
      if (pop_i) head_q <= head_q + 1'b1;
      if (push_i) begin
        tail_q           <= tail_q + 1'b1;
        reply_q[tail_q]  <= reply_i;
        digest_q[tail_q] <= digest_i;
        length_q[tail_q] <= length_i;
      end
    end
  end

`ifndef SYNTHESIS
  // No overrun.
  always @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!push_i || !full_o)
      else $fatal(1, "the queue overruns");
      assert (!pop_i || count_q != '0)
      else $fatal(1, "a unit is taken that isn't there");
      assert (count_q <= PLACES)
      else $fatal(1, "units are miscounted");
    end
  end
`endif
endmodule
