// What the compute engine has to say of units, until it is taken: one result and one refusal at most.
//
// finish_i stores a result, never while one is held (held_o). refuse_i stores a refusal; one that comes while another
// is held and not being taken is lost. Refusals are offered first: they are short. Nothing is offered while frozen_i.
module work_outcome
  import ringhil_pkg::*;
(
    input  logic                  clk_i,
    input  logic                  rst_i,
    input  logic                  frozen_i,
    // A result, with the unit that it is of.
    input  logic                  finish_i,
    input  logic [REPLY_BITS-1:0] reply_i,
    input  logic [          63:0] digest_i,
    input  logic [          31:0] length_i,
    // A refusal.
    input  logic                  refuse_i,
    input  logic [          15:0] reason_i,
    input  logic [REPLY_BITS-1:0] refuse_reply_i,
    // The outcome.
    output logic                  held_o,          // a result waits
    output logic                  busy_o,
    output logic                  valid_o,
    output logic                  ack_o,           // it is a refusal
    output logic [REPLY_BITS-1:0] reply_o,
    output logic [          15:0] status_o,
    output logic [          63:0] digest_o,
    output logic [          31:0] length_o,
    input  logic                  take_i
);
  logic result_q, refuse_q;
  logic [REPLY_BITS-1:0] result_reply_q, refuse_reply_q;
  logic [63:0] result_digest_q;
  logic [31:0] result_length_q;
  logic [15:0] refuse_status_q;

  assign held_o   = result_q;
  assign busy_o   = (result_q || refuse_q) && !frozen_i;
  assign valid_o  = busy_o && !rst_i;
  assign ack_o    = refuse_q;
  assign reply_o  = refuse_q ? refuse_reply_q : result_reply_q;
  assign status_o = refuse_q ? refuse_status_q : RESULT_DONE;
  assign digest_o = result_digest_q;
  assign length_o = result_length_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      result_q <= 1'b0;
      refuse_q <= 1'b0;
    end else if (!frozen_i) begin
      if (finish_i) begin
        result_q        <= 1'b1;
        result_reply_q  <= reply_i;
        result_digest_q <= digest_i;
        result_length_q <= length_i;
      end else if (take_i && !refuse_q) result_q <= 1'b0;
      if (refuse_i && !(refuse_q && !take_i)) begin
        refuse_q        <= 1'b1;
        refuse_reply_q  <= refuse_reply_i;
        refuse_status_q <= reason_i;
      end else if (take_i) refuse_q <= 1'b0;
    end
  end

`ifndef SYNTHESIS
  // No result is written over.
  always @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!finish_i || !result_q)
      else $fatal(1, "a result is written over");
    end
  end
`endif
endmodule
