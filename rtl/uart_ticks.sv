// The clock of one end of a UART: while run_i is high a tick every divisor_i / 256 clocks, as evenly as whole clocks
// allow. The n-th tick comes in cycle floor(n * divisor_i / 256) of run_i, counted from 1.
//
// Less than 256, a tick a clock, counts as 256. A divisor that changes while run_i is high holds from the next tick on,
// or from this one if that is due by then. While run_i is low nothing counts; rest_o says that the last
// count is gone, too.
module uart_ticks (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        run_i,
    input  logic [23:0] divisor_i,  // 1/256 clocks
    output logic        tick_o,
    output logic        rest_o
);
  logic [15:0] clocks_q;  // since the last tick
  logic [ 7:0] part_q;  // 1/256 clocks by which the last tick came too early
  logic [15:0] whole;
  logic [7:0] part, part_d;
  logic carry;

  assign {whole, part} = divisor_i[23:8] == 16'h0 ? 24'h100 : divisor_i;
  assign {carry, part_d} = {1'b0, part_q} + {1'b0, part};
  assign tick_o = run_i && {1'b0, clocks_q} + 17'h1 >= {1'b0, whole} + 17'(carry);

  assign rest_o = clocks_q == 16'h0 && part_q == 8'h0;

  always_ff @(posedge clk_i) begin
    if (rst_i || !run_i) begin
      clocks_q <= 16'h0;
      part_q   <= 8'h0;
    end else if (tick_o) begin
      clocks_q <= 16'h0;
      part_q   <= part_d;
    end else clocks_q <= clocks_q + 16'h1;
  end
endmodule
