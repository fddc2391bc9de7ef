// Top of a bench for a whole card: card_top with all its ports, and time, which counts clock edges from reset.
module card_bench
  import ringhil_pkg::*;
#(
    parameter int N = 4
) (
    input  logic                            clk_i,
    input  logic                            rst_i,
    output logic [                    63:0] now_o,
    input  logic [                     7:0] card_id_i,
    input  logic [FAULT_PORT_WIDTH * N-1:0] fault_i,
    input  logic [                 8*N-1:0] link_fault_i,
    input  logic [                16*N-1:0] ber_port1_i,
    input  logic [                16*N-1:0] ber_port2_i,
    input  logic [                16*N-1:0] ber_host_i,
    input  logic [                16*N-1:0] ber_boundary_i,
    input  logic [                32*N-1:0] link_delay_i,
    input  logic [                64*N-1:0] host_rx_data_i,
    input  logic [                 8*N-1:0] host_rx_ctl_i,
    output logic [                64*N-1:0] host_tx_data_o,
    output logic [                 8*N-1:0] host_tx_ctl_o,
    input  logic [                64*N-1:0] boundary_rx_data_i,
    input  logic [                 8*N-1:0] boundary_rx_ctl_i,
    output logic [                64*N-1:0] boundary_tx_data_o,
    output logic [                 8*N-1:0] boundary_tx_ctl_o,
    input  logic [                 8*N-1:0] mtx_ctl_i,       // port 2, eof, sof, valid (bits 4:0)
    input  logic [                64*N-1:0] mtx_data_i,
    output logic [                 8*N-1:0] mtx_ready_o,
    output logic [                64*N-1:0] mrx0_data_o,
    output logic [                 8*N-1:0] mrx0_ctl_o,
    output logic [                64*N-1:0] mrx1_data_o,
    output logic [                 8*N-1:0] mrx1_ctl_o,
    output logic [                64*N-1:0] mrx2_data_o,
    output logic [                 8*N-1:0] mrx2_ctl_o,
    output logic [                64*N-1:0] mrx3_data_o,
    output logic [                 8*N-1:0] mrx3_ctl_o,
    input  logic [                 8*N-1:0] reg_we_i,
    input  logic [                 8*N-1:0] reg_addr_i,
    input  logic [                32*N-1:0] reg_wdata_i,
    output logic [                32*N-1:0] reg_rdata_o,
    // What is on the wires of the ring: both transmitters of every cell.
    output logic [                64*N-1:0] p1_tx_data_o,
    output logic [                 8*N-1:0] p1_tx_ctl_o,
    output logic [                64*N-1:0] p2_tx_data_o,
    output logic [                 8*N-1:0] p2_tx_ctl_o,
    output logic [                 8*N-1:0] quiescent_o,
    output logic [                64*N-1:0] wake_at_o
);
  logic [63:0] now_i;
  assign now_o = now_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) now_i <= 64'h0;
    else now_i <= now_i + 64'h1;
  end

  card_top #(.N(N)) u_card (.*);
endmodule
