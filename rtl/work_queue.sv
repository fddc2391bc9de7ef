// Whole units that wait for the compute engine, and the one it works on: 4 places, first in, first out.
//
// push_i only while not full_o; pop_i only while count_o is not 0. Both at once are allowed.
// The oldest unit shows all the time.
module work_queue (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        frozen_i,
    input  logic        push_i,
    input  logic [63:0] unit_i,
    input  logic [15:0] source_i,
    input  logic [ 7:0] card_i,
    input  logic [15:0] attempt_i,
    input  logic [63:0] digest_i,
    input  logic [31:0] length_i,
    input  logic [ 1:0] from_i,
    input  logic        pop_i,
    output logic [ 2:0] count_o,
    output logic        full_o,
    output logic [63:0] unit_o,
    output logic [15:0] source_o,
    output logic [ 7:0] card_o,
    output logic [15:0] attempt_o,
    output logic [63:0] digest_o,
    output logic [31:0] length_o,
    output logic [ 1:0] from_o
);
  localparam int PLACES = 4;

  logic [63:0] unit_q[PLACES];
  logic [15:0] source_q[PLACES];
  logic [ 7:0] card_q[PLACES];
  logic [15:0] attempt_q[PLACES];
  logic [63:0] digest_q[PLACES];
  logic [31:0] length_q[PLACES];
  logic [ 1:0] from_q[PLACES];
  logic [1:0] head_q, tail_q;
  logic [2:0] count_q;

  assign count_o   = count_q;
  assign full_o    = count_q == 3'(PLACES);
  assign unit_o    = unit_q[head_q];
  assign source_o  = source_q[head_q];
  assign card_o    = card_q[head_q];
  assign attempt_o = attempt_q[head_q];
  assign digest_o  = digest_q[head_q];
  assign length_o  = length_q[head_q];
  assign from_o    = from_q[head_q];

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      head_q  <= 2'd0;
      tail_q  <= 2'd0;
      count_q <= 3'd0;
    end else if (!frozen_i) begin
      count_q <= count_q + 3'(push_i) - 3'(pop_i);
      if (pop_i) head_q <= head_q + 2'd1;
      if (push_i) begin
        tail_q            <= tail_q + 2'd1;
        unit_q[tail_q]    <= unit_i;
        source_q[tail_q]  <= source_i;
        card_q[tail_q]    <= card_i;
        attempt_q[tail_q] <= attempt_i;
        digest_q[tail_q]  <= digest_i;
        length_q[tail_q]  <= length_i;
        from_q[tail_q]    <= from_i;
      end
    end
  end

`ifndef SYNTHESIS
  // No overrun.
  always @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!push_i || !full_o)
      else $fatal(1, "the queue overruns");
      assert (!pop_i || count_q != 3'd0)
      else $fatal(1, "a unit is taken that isn't there");
      assert (count_q <= 3'(PLACES))
      else $fatal(1, "units are miscounted");
    end
  end
`endif
endmodule
