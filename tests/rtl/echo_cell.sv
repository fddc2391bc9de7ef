// In place of the GPU behind a bridge: shows what it was given. Every bit of its inputs, as of the last clock, is one of
// its outputs; these say besides how often it was clocked since the last reset began, how often in reset, and whether an
// input has changed while its clock was high. bridge_bench.py has the same in Python.
module ring_cell
  import ringhil_pkg::*;
(
    input  logic                        clk_i,
    input  logic                        rst_i,
    input  logic [                63:0] now_i,
    input  logic [                 7:0] card_id_i,
    input  logic [                15:0] node_id_i,
    input  logic [                15:0] ring_size_i,
    input  logic [FAULT_PORT_WIDTH-1:0] fault_i,
    input  logic [                 7:0] link_fault_i,
    input  logic [                15:0] ber_port1_i,
    input  logic [                15:0] ber_port2_i,
    input  logic [                15:0] ber_host_i,
    input  logic [                15:0] ber_boundary_i,
    input  logic [                31:0] link_delay_i,
    input  logic [                63:0] p1_rx_data_i,
    input  logic [                 7:0] p1_rx_ctl_i,
    output logic [                63:0] p1_tx_data_o,
    output logic [                 7:0] p1_tx_ctl_o,
    input  logic [                63:0] p2_rx_data_i,
    input  logic [                 7:0] p2_rx_ctl_i,
    output logic [                63:0] p2_tx_data_o,
    output logic [                 7:0] p2_tx_ctl_o,
    input  logic [                63:0] host_rx_data_i,
    input  logic [                 7:0] host_rx_ctl_i,
    output logic [                63:0] host_tx_data_o,
    output logic [                 7:0] host_tx_ctl_o,
    input  logic [                63:0] boundary_rx_data_i,
    input  logic [                 7:0] boundary_rx_ctl_i,
    output logic [                63:0] boundary_tx_data_o,
    output logic [                 7:0] boundary_tx_ctl_o,
    input  logic                        mtx_valid_i,
    input  logic                        mtx_sof_i,
    input  logic                        mtx_eof_i,
    input  logic [                 1:0] mtx_port_i,
    input  logic [                63:0] mtx_data_i,
    output logic                        mtx_ready_o,
    output logic [                63:0] mrx0_data_o,
    output logic [                 3:0] mrx0_ctl_o,
    output logic [                63:0] mrx1_data_o,
    output logic [                 3:0] mrx1_ctl_o,
    output logic [                63:0] mrx2_data_o,
    output logic [                 3:0] mrx2_ctl_o,
    output logic [                63:0] mrx3_data_o,
    output logic [                 3:0] mrx3_ctl_o,
    input  logic                        reg_we_i,
    input  logic [                 7:0] reg_addr_i,
    input  logic [                31:0] reg_wdata_i,
    output logic [                31:0] reg_rdata_o,
    output logic                        quiescent_o,
    output logic [                63:0] wake_at_o
);
  localparam int BITS = 64 + 5 * 64 + 4 * 8 + 8 + 16 + 16 + FAULT_PORT_WIDTH + 8 + 4 * 16 + 32 + 5 + 1 + 8 + 32;

  logic [BITS-1:0] inputs, given_q = '0;
  logic [15:0] clocks_q = 16'h0;
  logic [7:0] resets_q = 8'h00, addr;
  logic [5:0] written;
  logic [7:0] link_fault, card_id;
  logic was_reset_q = 1'b0, begins_q = 1'b0, moved_q = 1'b0;

  assign inputs = {
    now_i, p1_rx_data_i, p2_rx_data_i, host_rx_data_i, boundary_rx_data_i, mtx_data_i,
    p1_rx_ctl_i, p2_rx_ctl_i, host_rx_ctl_i, boundary_rx_ctl_i,
    card_id_i, node_id_i, ring_size_i, fault_i, link_fault_i,
    ber_boundary_i, ber_host_i, ber_port2_i, ber_port1_i, link_delay_i,
    reg_we_i, mtx_port_i, mtx_eof_i, mtx_sof_i, mtx_valid_i, reg_addr_i, reg_wdata_i
  };

  always_ff @(posedge clk_i) begin
    given_q     <= inputs;
    was_reset_q <= rst_i;
    begins_q    <= rst_i && !was_reset_q;
    clocks_q    <= rst_i && !was_reset_q ? 16'h1 : clocks_q + 16'h1;
    if (rst_i) resets_q <= was_reset_q ? resets_q + 8'h01 : 8'h01;
  end
  always_ff @(negedge clk_i) moved_q <= (moved_q && !begins_q) || inputs != given_q;

  assign {
    mrx1_data_o, p1_tx_data_o, p2_tx_data_o, host_tx_data_o, boundary_tx_data_o, mrx0_data_o,
    p1_tx_ctl_o, p2_tx_ctl_o, host_tx_ctl_o, boundary_tx_ctl_o,
    card_id, wake_at_o[47:0], link_fault, mrx2_data_o, mrx3_data_o[63:32],
    written, addr, mrx3_data_o[31:0]
  } = given_q;
  assign {mrx3_ctl_o, mrx2_ctl_o, mrx1_ctl_o, mrx0_ctl_o} = {link_fault, 2'b00, written};
  assign wake_at_o[63:48] = clocks_q;
  assign mtx_ready_o = moved_q;
  assign quiescent_o = clocks_q[0];
  assign reg_rdata_o = {resets_q, card_id, addr, ~reg_addr_i};
endmodule
