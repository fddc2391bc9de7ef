// Credits of the data channel at its sender: SLOTS at power-up, none after restart_i, one more for each
// credit_i, one less for each frame begun. transit_ok_o: a frame on its way may go on (1 credit).
// inject_ok_o: a new frame may enter the ring (2 credits): the slot that always stays free is the bubble
// that keeps a closed ring from deadlock.
module credit_counter
  import ringhil_pkg::*;
#(
    parameter int SLOTS = DATA_SLOTS
) (
    input  logic clk_i,
    input  logic rst_i,
    input  logic restart_i,
    input  logic credit_i,
    input  logic start_i,
    output logic transit_ok_o,
    output logic inject_ok_o
);
  logic [2:0] credits_q;

  assign transit_ok_o = credits_q != 3'h0;
  assign inject_ok_o  = credits_q > 3'h1;

  always_ff @(posedge clk_i) begin
    if (rst_i) credits_q <= 3'(SLOTS);
    else if (restart_i) credits_q <= 3'h0;
    else credits_q <= credits_q + 3'(credit_i) - 3'(start_i);
  end

`ifndef SYNTHESIS
  // No credit is spent that isn't there.
  always @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!start_i || (credits_q != 3'h0 && !restart_i))
      else $fatal(1, "a data frame begins without a credit");
    end
  end
`ifdef RINGHIL_BOTH_ENDS
  // The far end of the link is ours, too, and returns no more credits than it has places.
  always @(posedge clk_i) begin
    if (!rst_i) begin
      assert (credits_q <= 3'(SLOTS))
      else $fatal(1, "more credits than the receiver has places");
    end
  end
`endif
`endif
endmodule
