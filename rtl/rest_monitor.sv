// Says when the node rests, and until when: the quiescence contract of gpu_node.
//
// Queues and pipelines say that they are busy (busy_i). What is left are levels (level_i): they are at rest when the
// last clock edge changed none of them. A register write may change anything, so the cycle after it is not at rest.
// wake_at_o is the earliest of those wake_at_i whose waiting_i is high, all ones if there is none. Combinational.
module rest_monitor #(
    parameter int LEVELS = 32
) (
    input  logic              clk_i,
    input  logic              rst_i,
    input  logic [LEVELS-1:0] level_i,
    input  logic              busy_i,
    input  logic              write_i,     // a register is written
    input  logic [       7:0] waiting_i,   // by timer: its time counts
    input  logic [      63:0] wake_at0_i,
    input  logic [      63:0] wake_at1_i,
    input  logic [      63:0] wake_at2_i,
    input  logic [      63:0] wake_at3_i,
    input  logic [ 3:0][63:0] wake_at4_i,  // timers 4 to 7
    output logic              quiescent_o,
    output logic [      63:0] wake_at_o
);
  logic [LEVELS-1:0] level_q;
  logic written_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      level_q   <= '0;
      written_q <= 1'b0;
    end else begin
      level_q   <= level_i;
      written_q <= write_i;
    end
  end

  assign quiescent_o = level_i == level_q && !written_q && !busy_i;

  // A tree of minima.
  function automatic logic [63:0] earlier(input logic [63:0] a, input logic [63:0] b);
    earlier = a < b ? a : b;
  endfunction

  logic [63:0] timer[8], at[8], of_two[4], of_four[2];
  assign timer[0] = wake_at0_i;
  assign timer[1] = wake_at1_i;
  assign timer[2] = wake_at2_i;
  assign timer[3] = wake_at3_i;
  for (genvar i = 4; i < 8; i++) begin : g_more
    assign timer[i] = wake_at4_i[i-4];
  end
  for (genvar i = 0; i < 8; i++) begin : g_timer
    assign at[i] = timer[i] | {64{!waiting_i[i]}};
  end
  for (genvar i = 0; i < 4; i++) begin : g_two
    assign of_two[i] = earlier(at[2*i], at[2*i+1]);
  end
  for (genvar i = 0; i < 2; i++) begin : g_four
    assign of_four[i] = earlier(of_two[2*i], of_two[2*i+1]);
  end
  assign wake_at_o = earlier(of_four[0], of_four[1]);
endmodule
