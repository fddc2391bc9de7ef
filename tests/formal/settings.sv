// context_table: what a context may have, its limit, slice, priority and cost of a switch, changes while it is there by a
// command to configure it alone, from whoever manages the GPU: its own key isn't enough.
module settings
  import ringhil_pkg::*;
(
    input logic                  clk_i,
    input logic                  rst_i,
    input logic                  frozen_i,
    input logic [          31:0] device_memory_i,
    input logic                  command_i,
    input logic [           7:0] compute_i,
    input logic [          15:0] context_i,
    input logic [          63:0] head0_i,
    input logic [          63:0] head1_i,
    input logic [REPLY_BITS-1:0] reply_i,
    input logic [          31:0] length_i,
    input logic [          63:0] digest_i,
    input logic [           1:0] turn_i,
    input logic                  begun_i,
    input logic                  over_i,
    input logic [          31:0] ran_i,
    input logic [          31:0] worked_i,
    input logic                  take_i,
    input logic [           1:0] which_i  // any context
);
  localparam int CONTEXTS = 4;
  context_table #(
      .CONTEXTS(CONTEXTS)
  ) dut (
      .refuse_o(), .reason_o(), .refuse_reply_o(), .asks_o(), .energy_i(64'h0), .busy_cycles_i(64'h0), .launched_o(),
      .priority_o(), .turn_slice_o(), .turn_state_o(), .turn_left_o(), .stop_o(), .busy_o(), .valid_o(), .reply_o(),
      .status_o(), .digest_o(), .length_o(), .cycles_o(), .held_o(), .*
  );

  logic started_q = 1'b0;
  logic [1:0] which_q;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!started_q) which_q <= which_i;
  end
  always_comb assume (started_q || rst_i);

  // May this cycle's command change them? As it came, beside what the table makes of it.
  logic may, came_q, configures_q;
  logic [15:0] context_q;
  logic [31:0] key_q;
  assign may = came_q && configures_q && key_q == 32'h0 && context_q == {14'h0, which_q} && !frozen_i;
  always_ff @(posedge clk_i) begin
    if (rst_i) came_q <= 1'b0;
    else if (!frozen_i) begin
      came_q <= command_i;
      if (command_i) begin
        configures_q <= compute_i == COMPUTE_CONFIGURE;
        context_q    <= context_i;
        key_q        <= head0_i[63:32];
      end
    end
  end

  logic alive_q, may_q;
  logic [95:0] has, had_q;
  assign has = {dut.limit_q[which_q], dut.slice_q[which_q], dut.priority_q[which_q], dut.state_q[which_q]};
  always_ff @(posedge clk_i) begin
    had_q   <= has;
    may_q   <= may;
    alive_q <= started_q && !rst_i && dut.alive_q[which_q];
  end

  always_comb begin
    if (started_q && !rst_i) begin
      if (alive_q && !may_q) assert (has == had_q);
      // Helpers.
      assert (came_q == dut.command_q);
      if (came_q) assert (configures_q == (dut.compute_q == COMPUTE_CONFIGURE) && key_q == dut.key_in);
      if (came_q) assert (dut.listed_q == (context_q < 16'd4) && dut.at_q == context_q[1:0]);
    end
  end
endmodule
