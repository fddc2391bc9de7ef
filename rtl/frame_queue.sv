// Queue of whole frames: a frame shows at the output only when its last flit is in. First word falls
// through. clear_i empties it; the rest of a frame that was being written then is dropped. A frame that is longer
// than the queue is dropped too: it could never become whole. So is one that has no end when the next one begins.
module frame_queue #(
    parameter int LOG2 = 5
) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        clear_i,
    input  logic        push_i,
    input  logic        sof_i,
    input  logic        eof_i,
    input  logic [63:0] data_i,
    output logic        ready_o,
    input  logic        pop_i,
    output logic        valid_o,
    output logic        sof_o,
    output logic        eof_o,
    output logic [63:0] data_o,
    output logic        busy_o
);
  logic [63:0] mem_q[1<<LOG2];
  logic [1:0] tag_q[1<<LOG2];
  logic [LOG2:0] wr_q, rd_q, whole_q;  // whole_q: end of the last whole frame
  logic [LOG2:0] at;
  logic open_q, accept, endless;

  assign at = sof_i ? whole_q : wr_q;

  assign ready_o = !(wr_q[LOG2] != rd_q[LOG2] && wr_q[LOG2-1:0] == rd_q[LOG2-1:0]);
  assign accept  = push_i && ready_o && (sof_i || open_q);
  assign valid_o = rd_q != whole_q;
  assign {sof_o, eof_o} = valid_o ? tag_q[rd_q[LOG2-1:0]] : 2'b00;
  assign data_o = valid_o ? mem_q[rd_q[LOG2-1:0]] : 64'h0;
  assign endless = !ready_o && open_q && rd_q == whole_q;
  // Half a frame is no work: it waits for its rest, which is an input.
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
