// context_table, whatever commands come: no context holds more memory than a limit allowed that it has had since it was
// created, and exactly held_o is what all of them hold; together they never hold more than device_memory_i has been
// since the reset. What is allocated fits the limit and the memory of that cycle. So where neither is ever lowered,
// never is more held than they allow.
module memory
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
    input logic [           1:0] which_i           // any context
);
  localparam int CONTEXTS = 3;
  logic [31:0] held_o;
  context_table #(
      .CONTEXTS(CONTEXTS)
  ) dut (
      .refuse_o(), .reason_o(), .refuse_reply_o(), .asks_o(), .energy_i(64'h0), .busy_cycles_i(64'h0), .launched_o(),
      .priority_o(), .turn_slice_o(), .turn_state_o(), .turn_left_o(), .stop_o(), .busy_o(), .valid_o(), .reply_o(),
      .status_o(), .digest_o(), .length_o(), .cycles_o(), .*
  );

  logic started_q = 1'b0;
  logic [1:0] which_q;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!started_q) which_q <= which_i;
  end
  always_comb assume ((started_q || rst_i) && (!started_q || which_q < 2'(CONTEXTS)));

  logic alive;
  logic [31:0] used, limit;
  assign alive = dut.alive_q[which_q];
  assign used  = dut.used_q[which_q];
  assign limit = dut.limit_q[which_q];

  // The highest limit that the context has had since it was created, and the most memory that there has been.
  logic [31:0] limit_before_q, most_q, most, memory_q;
  assign most = most_q > limit ? most_q : limit;
  always_ff @(posedge clk_i) begin
    most_q         <= rst_i || !alive ? 32'h0 : most;
    memory_q       <= rst_i ? 32'h0 : memory_q > device_memory_i ? memory_q : device_memory_i;
    limit_before_q <= limit;
  end

  // An allocation in the last cycle: of no pages it is done, too, where less memory is there than is held.
  logic allocated_q;
  logic [31:0] device_memory_q;
  always_ff @(posedge clk_i) begin
    allocated_q     <= !rst_i && !frozen_i && dut.allocate && dut.amount_in != 32'h0;
    device_memory_q <= device_memory_i;
  end
  logic allocated_here_q;
  always_ff @(posedge clk_i) allocated_here_q <= !rst_i && !frozen_i && dut.allocate && dut.at_q == which_q;

  logic [33:0] sum;
  always_comb begin
    sum = 34'h0;
    for (int i = 0; i < CONTEXTS; i++) if (dut.alive_q[i]) sum = sum + 34'(dut.used_q[i]);
    if (started_q && !rst_i) begin
      assert (sum == 34'(held_o));
      assert (held_o <= memory_q);
      if (alive) assert (used <= most);
      if (allocated_q) assert (held_o <= device_memory_q);
      if (allocated_here_q) assert (used <= limit_before_q);
      // Helpers.
      assert (dut.alive_q[0] && dut.used_q[0] == 32'h0);
      if (dut.command_q && dut.listed_q) assert (dut.at_q < 2'(CONTEXTS));
    end
  end
endmodule
