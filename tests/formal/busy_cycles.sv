// energy_meter: the cycles in which the engine ran are counted, each once, whatever is written and looked at when.
module busy_cycles (
    input logic        clk_i,
    input logic        rst_i,
    input logic [63:0] now_i,
    input logic        works_i,
    input logic        held_i,
    input logic        write_i,
    input logic        look_i,
    input logic        begins_i,
    input logic [15:0] run_power_i,
    input logic [15:0] idle_power_i,
    input logic [15:0] low_power_i,
    input logic [15:0] off_power_i,
    input logic [31:0] low_after_i,
    input logic [31:0] off_after_i,
    input logic [15:0] low_wake_i,
    input logic [15:0] off_wake_i
);
  logic [63:0] busy_cycles_o;
  energy_meter dut (.busy_o(), .state_o(), .wake_o(), .energy_o(), .*);

  logic started_q = 1'b0;
  logic [63:0] before_q, ran_q;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    before_q  <= now_i;
    if (rst_i) ran_q <= 64'h0;
    else ran_q <= ran_q + 64'(works_i);
  end
  always_comb begin
    assume (started_q || rst_i);
    if (started_q) assume (now_i == before_q + 64'h1);
    // A cycle that is settled has passed, but for one in which settings were written.
    if (started_q && !rst_i) begin
      counted : assert (busy_cycles_o == (look_i ? ran_q : 64'h0));
      same : assert (ran_q == dut.busy_q + (dut.works_q ? now_i - dut.since_q : 64'h0));
    end
  end
endmodule
