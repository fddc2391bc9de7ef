// hil_bridge: each path of the GPU behind it has SETTLE clocks, from what the GPU is given to its clock or to where its
// outputs are looked at, from its clock to there, and from there to where what was seen is used; from one edge of its
// clock to the next there are twice as many. Timing analysis of an FPGA relies on it.
module settling
  import ringhil_pkg::*;
(
    input logic       clk_i,
    input logic       rst_i,
    input logic       rx_valid_i,
    input logic [7:0] rx_data_i,
    input logic       tx_ready_i
);
  localparam logic [3:0] SETTLE = 4;
  // Of its states, in their order.
  localparam logic [3:0] GROUPS = 3, GROUP = 4, PUT = 5, STANDS = 6, FOLLOWS = 7, BEGIN = 8, ANSWER = 9, NUMBER = 10;
  localparam logic [3:0] CHANGED = 12, DIFFERS = 13, GET = 14, SEND = 15;

  logic rx_ready_o, tx_valid_o, idle_o;
  logic [7:0] tx_data_o;
  hil_bridge dut (.*);

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb assume (started_q || rst_i);

  // How many clocks ago what the GPU is given has changed, its clock has risen, and its outputs were looked at; 15 stands
  // for more.
  function automatic logic [3:0] older(input logic [3:0] age);
    older = age == 4'hF ? age : age + 4'h1;
  endfunction
  logic clk_q, look_q, rst_q, rises, looks;
  logic [8*8*HIL_IN_GROUPS-1:0] in_q;
  logic [3:0] given_q, risen_q, seen_q, given, risen, seen;
  assign rises = dut.clk_q && !clk_q;
  assign looks = dut.look_q && !look_q;
  assign given = dut.in_q != in_q || dut.rst_q != rst_q ? 4'h0 : older(given_q);
  assign risen = rises ? 4'h0 : older(risen_q);
  assign seen  = looks ? 4'h0 : older(seen_q);
  always_ff @(posedge clk_i) begin
    clk_q   <= dut.clk_q;
    look_q  <= dut.look_q;
    rst_q   <= dut.rst_q;
    in_q    <= dut.in_q;
    given_q <= given;
    risen_q <= rst_i ? 4'hF : risen;
    seen_q  <= rst_i ? 4'hF : seen;
  end

  // A path that begins with a change of so many clocks ago ends at the next edge of clk_i.
  logic stands, follows;
  logic [3:0] count;
  assign stands  = dut.state_q == STANDS;
  assign follows = dut.state_q == FOLLOWS;
  assign count   = dut.count_q;
  always_comb begin
    if (started_q && !rst_i) begin
      if (rises) assert (given_q >= SETTLE - 1 && risen_q >= 2 * SETTLE - 1);
      if (looks) assert (given_q >= SETTLE - 1 && risen_q >= SETTLE - 1);
      if (looks) assert (given != 4'h0);
      if (dut.state_q inside {CHANGED, DIFFERS, GET} || dut.keep_q) assert (seen >= SETTLE - 1);
      // Helpers: how far each state is from the changes.
      assert (!dut.clk_q || (follows && count == 4'h0));
      assert (!dut.look_q || dut.state_q == BEGIN);
      assert (!(stands || follows) || count < SETTLE);
      assert (risen >= (follows ? count : SETTLE + (stands ? count : 4'h0)));
      if (stands) assert (given >= count);
      if (follows) assert (given >= SETTLE + count);
      assert (dut.put_q == '0 || dut.state_q inside {PUT, GROUP});
      assert (!(dut.forget_q || dut.now_q) || dut.state_q == GROUPS);
      assert (!dut.keep_q || dut.state_q == SEND);
      if (dut.state_q == ANSWER) assert (seen >= 1);
      if (dut.state_q == NUMBER) assert (seen >= 2);
    end
  end
endmodule

// Whatever is seen.
module hil_look #(
    parameter int WIDTH = 8
) (
    input  logic             clk_i,
    input  logic [WIDTH-1:0] data_i,
    output logic [WIDTH-1:0] data_o
);
endmodule

// Anything may be behind the bridge.
module ring_cell
  import ringhil_pkg::*;
(
    input logic clk_i, rst_i, mtx_valid_i, mtx_sof_i, mtx_eof_i, reg_we_i,
    input logic [1:0] mtx_port_i,
    input logic [7:0] card_id_i, link_fault_i, reg_addr_i,
    input logic [7:0] p1_rx_ctl_i, p2_rx_ctl_i, host_rx_ctl_i, boundary_rx_ctl_i,
    input logic [15:0] node_id_i, ring_size_i, ber_port1_i, ber_port2_i, ber_host_i, ber_boundary_i,
    input logic [FAULT_PORT_WIDTH-1:0] fault_i,
    input logic [31:0] link_delay_i, reg_wdata_i,
    input logic [63:0] now_i, mtx_data_i, p1_rx_data_i, p2_rx_data_i, host_rx_data_i, boundary_rx_data_i,
    output logic mtx_ready_o, quiescent_o,
    output logic [3:0] mrx0_ctl_o, mrx1_ctl_o, mrx2_ctl_o, mrx3_ctl_o,
    output logic [7:0] p1_tx_ctl_o, p2_tx_ctl_o, host_tx_ctl_o, boundary_tx_ctl_o,
    output logic [31:0] reg_rdata_o,
    output logic [63:0] p1_tx_data_o, p2_tx_data_o, host_tx_data_o, boundary_tx_data_o,
    output logic [63:0] mrx0_data_o, mrx1_data_o, mrx2_data_o, mrx3_data_o, wake_at_o
);
endmodule
