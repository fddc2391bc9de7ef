// work_outcome: each result, and each refusal that there is room for, is offered until it is taken, as it came, once.
// There is room for a refusal when none is held, or the one that is held is being taken.
module outcome
  import ringhil_pkg::*;
(
    input logic                  clk_i,
    input logic                  rst_i,
    input logic                  frozen_i,
    input logic                  finish_i,
    input logic [REPLY_BITS-1:0] reply_i,
    input logic [          63:0] digest_i,
    input logic [          31:0] length_i,
    input logic                  refuse_i,
    input logic [          15:0] reason_i,
    input logic [REPLY_BITS-1:0] refuse_reply_i,
    input logic                  take_i
);
  logic held_o, busy_o, valid_o, ack_o;
  logic [REPLY_BITS-1:0] reply_o;
  logic [63:0] digest_o;
  logic [15:0] status_o;
  logic [31:0] length_o;
  work_outcome dut (.*);

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;

  // What has come and hasn't been taken.
  logic result_q, refusal_q, takes_result, takes_refusal;
  logic [REPLY_BITS+95:0] result_was_q;
  logic [REPLY_BITS+15:0] refusal_was_q;
  assign takes_refusal = take_i && !frozen_i && refusal_q;
  assign takes_result  = take_i && !frozen_i && !refusal_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      result_q  <= 1'b0;
      refusal_q <= 1'b0;
    end else begin
      if (finish_i && !frozen_i) begin
        result_q     <= 1'b1;
        result_was_q <= {reply_i, digest_i, length_i};
      end else if (takes_result) result_q <= 1'b0;
      if (refuse_i && !frozen_i && (!refusal_q || takes_refusal)) begin
        refusal_q     <= 1'b1;
        refusal_was_q <= {refuse_reply_i, reason_i};
      end else if (takes_refusal) refusal_q <= 1'b0;
    end
  end

  logic [REPLY_BITS+95:0] result, kept_result;
  logic [REPLY_BITS+15:0] refusal, kept_refusal;
  assign result  = {reply_o, digest_o, length_o};
  assign refusal = {reply_o, status_o};
  assign kept_result  = {dut.result_reply_q, dut.result_digest_q, dut.result_length_q};
  assign kept_refusal = {dut.refuse_reply_q, dut.refuse_status_q};
  always_comb begin
    assume (started_q || rst_i);
    assume (!take_i || valid_o);
    assume (!finish_i || !held_o);
    if (started_q && !rst_i) begin
      held : assert (held_o == result_q);
      offered : assert (valid_o == ((result_q || refusal_q) && !frozen_i));
      short_first : assert (!valid_o || ack_o == refusal_q);
      refused : assert (!valid_o || !ack_o || refusal == refusal_was_q);
      done : assert (!valid_o || ack_o || (result == result_was_q && status_o == RESULT_DONE));
      // What it keeps is what was asked for, also while nothing is offered.
      refusal_kept : assert (dut.refuse_q == refusal_q && (!refusal_q || kept_refusal == refusal_was_q));
      result_kept : assert (!result_q || kept_result == result_was_q);
    end
  end
endmodule
