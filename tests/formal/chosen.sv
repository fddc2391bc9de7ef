// slice_scheduler: of those who may have the next turn it goes to the highest priority, of equals to the lowest number.
module chosen
  import ringhil_pkg::*;
(
    input logic                  clk_i,
    input logic                  rst_i,
    input logic                  frozen_i,
    input logic                  slow_i,
    input logic [63:0]           now_i,
    input logic [31:0]           switch_i,
    input logic [31:0]           default_slice_i,
    input logic [15:0]           wake_i,
    input logic [15:0]           launched_i,
    input logic [15:0][ 7:0]     priority_i,
    input logic [31:0]           slice_i,
    input logic [23:0]           state_i,
    input logic [31:0]           left_i,
    input logic                  stop_i,
    input logic                  plain_waits_i,
    input logic                  plain_busy_i,
    input logic                  plain_starts_i,
    input logic [ 3:0]           which_i          // any context
);
  slice_scheduler #(
      .CONTEXTS(16)
  ) dut (
      .turn_o(), .begun_o(), .over_o(), .ran_o(), .worked_o(), .plain_go_o(), .plain_switch_o(), .begins_o(), .runs_o(),
      .waiting_o(), .wake_at_o(), .busy_o(), .shown_o(), .*
  );

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb assume (started_q || rst_i);

  logic [7:0] best, mine;
  assign best = priority_i[dut.next];
  assign mine = priority_i[which_i];
  always_comb begin
    if (started_q && !rst_i && dut.any && dut.candidates[which_i]) begin
      assert (dut.candidates[dut.next]);
      assert (best > mine || (best == mine && dut.next <= which_i));
    end
  end
endmodule
