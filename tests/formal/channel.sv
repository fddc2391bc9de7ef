// The quiescence contract of link_channel, which ring_cell puts before each port of a node: while it isn't busy and its
// inputs stay, without flit or credit, no register changes, and no flit or credit comes out.
module channel
  import ringhil_pkg::*;
(
    input logic        clk_i,
    input logic        rst_i,
    input logic        cut_i,
    input logic [15:0] ber_i,
    input logic [ 5:0] delay_i,
    input logic [63:0] data_i,
    input logic [ 7:0] ctl_i,
    input logic [ 7:0] where_i
);
  logic [63:0] data_o;
  logic [ 7:0] ctl_o;
  logic busy_o;
  link_channel dut (.*);

  logic started_q = 1'b0;
  logic [7:0] where_q;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!started_q) where_q <= where_i;
  end
  always_comb assume (started_q || rst_i);

  localparam logic [7:0] EVENTS = 8'h1 << LINK_VALID | 8'h1 << LINK_CREDIT;
  localparam logic [7:0] LEVELS = 8'h1 << LINK_UP | 8'h1 << LINK_FAULT;
  logic [95:0] inputs, inputs_q;
  logic quiet, quiet_q, was_reset_q, still;
  assign still = started_q && quiet_q;
  logic [7:0] ctl_q;
  assign inputs = {cut_i, ber_i, delay_i, data_i, ctl_i};
  assign quiet  = started_q && !busy_o && inputs == inputs_q && (ctl_i & ~LEVELS) == 8'h0 && !rst_i && !was_reset_q;
  always_ff @(posedge clk_i) begin
    inputs_q    <= inputs;
    was_reset_q <= rst_i;
    quiet_q     <= quiet;
    ctl_q       <= ctl_o;
  end
  always_comb begin
    if (started_q) assert (((dut.first_q | dut.level_q) & ~LEVELS) == 8'h0);
    if (quiet) assert ((ctl_o & EVENTS) == 8'h0);
    if (quiet && quiet_q) assert (ctl_o == ctl_q);
  end

  // One comparison a register and memory.
  `include "state.svh"
endmodule
