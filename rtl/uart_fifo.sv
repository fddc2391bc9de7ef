// Queue of 2**LOG2 words, first in, first out. First word falls through; what comes in shows in the next cycle.
//
// - push_i only while a place is free (count_o less than 2**LOG2), or one is freed by pop_i in the same cycle. A full
//   queue doesn't look: whoever pushes counts.
// - pop_i takes the word that shows, only while valid_o is high. push_i and pop_i in one cycle are both carried out; the
//   count stays.
// - rst_i goes before both. data_o says nothing while valid_o is low.
module uart_fifo #(
    parameter int LOG2  = 4,  // 1 at least
    parameter int WIDTH = 8   // bits of a word
) (
    input  logic             clk_i,
    input  logic             rst_i,
    input  logic             push_i,
    input  logic [WIDTH-1:0] data_i,
    input  logic             pop_i,
    output logic             valid_o,
    output logic [WIDTH-1:0] data_o,
    output logic [   LOG2:0] count_o
);
  logic [WIDTH-1:0] mem_q[1<<LOG2];
  logic [LOG2:0] wr_q, rd_q;

  assign count_o = wr_q - rd_q;
  assign valid_o = wr_q != rd_q;
  assign data_o  = mem_q[rd_q[LOG2-1:0]];

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      wr_q <= '0;
      rd_q <= '0;
    end else begin
      if (push_i) begin
        mem_q[wr_q[LOG2-1:0]] <= data_i;
        wr_q <= wr_q + 1'b1;
      end
      if (pop_i) rd_q <= rd_q + 1'b1;
    end
  end

`ifndef SYNTHESIS
  // No overrun: what is written lies between head and end of the memory.
  localparam logic [LOG2:0] DEPTH = {1'b1, {LOG2{1'b0}}};
  always @(posedge clk_i) begin
    if (!rst_i) begin
      assert (count_o <= DEPTH && (!push_i || count_o != DEPTH || pop_i))
      else $fatal(1, "the queue overruns");
      assert (!pop_i || valid_o)
      else $fatal(1, "a word is taken that isn't there");
    end
  end
`endif
endmodule
