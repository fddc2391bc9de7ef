// Compares where the bypass switch stands with where it was told to stand. When it has not followed within
// watchdog_i cycles it is stuck. A switch stuck in THROUGH before a GPU that takes no part swallows every
// frame: then silent_o takes the carrier off both ring ports, so that the neighbours turn traffic round
// (WRAP) and the ring is counted without this node instead of not at all.
module switch_position (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic [63:0] now_i,
    input  logic [31:0] watchdog_i,
    input  logic        bypass_i,    // told
    input  logic [ 1:0] bypassed_i,  // found, by lane
    output logic        stuck_o,
    output logic        silent_o,
    output logic        waiting_o,   // wake_at_o counts
    output logic [63:0] wake_at_o
);
  logic timing_q, stuck_q, differs;
  logic [63:0] at_q;

  assign differs   = bypassed_i != {2{bypass_i}};
  assign stuck_o   = stuck_q;
  assign silent_o  = stuck_q && bypass_i && differs;
  assign waiting_o = timing_q;
  assign wake_at_o = at_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      timing_q <= 1'b0;
      stuck_q  <= 1'b0;
      at_q     <= 64'h0;
    end else if (!differs) begin
      timing_q <= 1'b0;
      stuck_q  <= 1'b0;
    end else if (!timing_q && !stuck_q) begin
      timing_q <= 1'b1;
      at_q     <= now_i + 64'(watchdog_i);
    end else if (timing_q && now_i >= at_q) begin
      timing_q <= 1'b0;
      stuck_q  <= 1'b1;
    end
  end
endmodule
