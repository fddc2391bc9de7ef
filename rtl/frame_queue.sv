// Queue of whole frames, 2**LOG2 flits: a frame shows at the output only when its last flit is in. First word falls
// through; what comes in shows in the next cycle at the earliest.
//
// - push_i brings a flit; it is taken while ready_o is high and lost otherwise, so whoever pushes waits for ready_o. A
//   flit that neither begins a frame (sof_i) nor belongs to one that has begun is passed over.
// - pop_i takes the flit that shows, only while valid_o is high. push_i and pop_i in one cycle are both carried out; in a
//   full queue pop_i makes room for the next cycle, not for this one.
// - clear_i goes before push_i and pop_i: it empties the queue, and the rest of a frame that was being written then is
//   passed over.
// - Two kinds of frames are dropped, since they could never become whole: one that is longer than the queue, when it
//   fills the queue alone; one that has no end when the next one begins, in that cycle.
// - busy_o: a flit shows, or a frame is about to be dropped. Half a frame is no work: it waits for its rest, an input.
// - sof_o, eof_o and data_o are 0 while valid_o is low.
module frame_queue #(
    parameter int LOG2  = 5,  // 1 at least; the longest frame has 2**LOG2 flits
    parameter int WIDTH = 64  // bits of a flit
) (
    input  logic             clk_i,
    input  logic             rst_i,
    input  logic             clear_i,
    input  logic             push_i,
    input  logic             sof_i,
    input  logic             eof_i,
    input  logic [WIDTH-1:0] data_i,
    output logic             ready_o,
    input  logic             pop_i,
    output logic             valid_o,
    output logic             sof_o,
    output logic             eof_o,
    output logic [WIDTH-1:0] data_o,
    output logic             busy_o
);
  logic [WIDTH-1:0] mem_q[1<<LOG2];
  logic [1:0] tag_q[1<<LOG2];
  logic [LOG2:0] wr_q, rd_q, whole_q;  // whole_q: end of the last whole frame
  logic [LOG2:0] at;
  logic open_q, accept, endless;

  assign at = sof_i ? whole_q : wr_q;

  assign ready_o = !(wr_q[LOG2] != rd_q[LOG2] && wr_q[LOG2-1:0] == rd_q[LOG2-1:0]);
  assign accept  = push_i && ready_o && (sof_i || open_q);
  assign valid_o = rd_q != whole_q;
  assign {sof_o, eof_o} = valid_o ? tag_q[rd_q[LOG2-1:0]] : 2'b00;
  assign data_o = valid_o ? mem_q[rd_q[LOG2-1:0]] : '0;
  assign endless = !ready_o && open_q && rd_q == whole_q;
  assign busy_o  = valid_o || endless;

  always_ff @(posedge clk_i) begin
    if (rst_i || clear_i) begin
      wr_q    <= '0;
      rd_q    <= '0;
      whole_q <= '0;
      open_q  <= 1'b0;
    end else begin
      if (endless) begin
        wr_q   <= whole_q;
        open_q <= 1'b0;
      end else if (accept) begin
        mem_q[at[LOG2-1:0]] <= data_i;
        tag_q[at[LOG2-1:0]] <= {sof_i, eof_i};
        wr_q   <= at + 1'b1;
        open_q <= !eof_i;
        if (eof_i) whole_q <= at + 1'b1;
      end
      if (pop_i) rd_q <= rd_q + 1'b1;
    end
  end

`ifndef SYNTHESIS
  // No overrun: what is written lies between head and end of the memory, what shows in what is written.
  localparam logic [LOG2:0] DEPTH = {1'b1, {LOG2{1'b0}}};
  always @(posedge clk_i) begin
    if (!rst_i) begin
      assert (wr_q - rd_q <= DEPTH && whole_q - rd_q <= wr_q - rd_q)
      else $fatal(1, "the queue overruns");
      assert (!pop_i || valid_o)
      else $fatal(1, "a flit is taken that isn't there");
    end
  end
`endif
endmodule
