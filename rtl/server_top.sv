// A whole server as one design: CARDS cards of N GPUs each, and the boundary links between them. For cocotb
// benches, and as the yardstick that node-by-node simulation is compared with.
//
// Cells are numbered through, card by card. PEERS says for each of them, in 16 bits at [16*c +: 16], which cell
// its boundary port is wired to; 16'hFFFF: none. The links must fit: the peer's peer is the cell itself. Ports
// of all cells lie side by side as in card_top; the ports of the boundary links are outputs only.
module server_top
  import ringhil_pkg::*;
#(
    parameter int CARDS = 2,
    parameter int N = 3,
    // GPUs 1 and 2 of the first card with GPUs 2 and 1 of the second one.
    parameter logic [16*CARDS*N-1:0] PEERS = (16*CARDS*N)'(96'h0001_0002_FFFF_0004_0005_FFFF),
    localparam int C = CARDS * N
) (
    input  logic                            clk_i,
    input  logic                            rst_i,
    input  logic [                    63:0] now_i,
    input  logic [FAULT_PORT_WIDTH * C-1:0] fault_i,
    input  logic [                 8*C-1:0] link_fault_i,
    input  logic [                16*C-1:0] ber_port1_i,
    input  logic [                16*C-1:0] ber_port2_i,
    input  logic [                16*C-1:0] ber_host_i,
    input  logic [                16*C-1:0] ber_boundary_i,
    input  logic [                32*C-1:0] link_delay_i,
    input  logic [                64*C-1:0] host_rx_data_i,
    input  logic [                 8*C-1:0] host_rx_ctl_i,
    output logic [                64*C-1:0] host_tx_data_o,
    output logic [                 8*C-1:0] host_tx_ctl_o,
    output logic [                64*C-1:0] boundary_tx_data_o,
    output logic [                 8*C-1:0] boundary_tx_ctl_o,
    input  logic [                 8*C-1:0] mtx_ctl_i,          // port 2, eof, sof, valid (bits 4:0)
    input  logic [                64*C-1:0] mtx_data_i,
    output logic [                 8*C-1:0] mtx_ready_o,
    output logic [                64*C-1:0] mrx0_data_o,
    output logic [                 8*C-1:0] mrx0_ctl_o,
    output logic [                64*C-1:0] mrx1_data_o,
    output logic [                 8*C-1:0] mrx1_ctl_o,
    output logic [                64*C-1:0] mrx2_data_o,
    output logic [                 8*C-1:0] mrx2_ctl_o,
    output logic [                64*C-1:0] mrx3_data_o,
    output logic [                 8*C-1:0] mrx3_ctl_o,
    input  logic [                 8*C-1:0] reg_we_i,
    input  logic [                 8*C-1:0] reg_addr_i,
    input  logic [                32*C-1:0] reg_wdata_i,
    output logic [                32*C-1:0] reg_rdata_o,
    output logic [                64*C-1:0] p1_tx_data_o,
    output logic [                 8*C-1:0] p1_tx_ctl_o,
    output logic [                64*C-1:0] p2_tx_data_o,
    output logic [                 8*C-1:0] p2_tx_ctl_o,
    output logic [                 8*C-1:0] quiescent_o,
    output logic [                64*C-1:0] wake_at_o
);
  logic [64*C-1:0] boundary_rx_data;
  logic [ 8*C-1:0] boundary_rx_ctl;

  for (genvar c = 0; c < C; c++) begin : g_boundary
    localparam logic [15:0] PEER = PEERS[16*c+:16];
    if (PEER == 16'hFFFF) begin : g_open
      assign boundary_rx_data[64*c+:64] = 64'h0;
      assign boundary_rx_ctl[8*c+:8] = 8'h0;
    end else begin : g_wired
      assign boundary_rx_data[64*c+:64] = boundary_tx_data_o[64*PEER+:64];
      assign boundary_rx_ctl[8*c+:8] = boundary_tx_ctl_o[8*PEER+:8];
    end
  end

  for (genvar k = 0; k < CARDS; k++) begin : g_card
    card_top #(
        .N(N)
    ) u_card (
        .clk_i,
        .rst_i,
        .now_i,
        .card_id_i(8'(k)),
        .fault_i(fault_i[FAULT_PORT_WIDTH*N*k+:FAULT_PORT_WIDTH*N]),
        .link_fault_i(link_fault_i[8*N*k+:8*N]),
        .ber_port1_i(ber_port1_i[16*N*k+:16*N]),
        .ber_port2_i(ber_port2_i[16*N*k+:16*N]),
        .ber_host_i(ber_host_i[16*N*k+:16*N]),
        .ber_boundary_i(ber_boundary_i[16*N*k+:16*N]),
        .link_delay_i(link_delay_i[32*N*k+:32*N]),
        .host_rx_data_i(host_rx_data_i[64*N*k+:64*N]),
        .host_rx_ctl_i(host_rx_ctl_i[8*N*k+:8*N]),
        .host_tx_data_o(host_tx_data_o[64*N*k+:64*N]),
        .host_tx_ctl_o(host_tx_ctl_o[8*N*k+:8*N]),
        .boundary_rx_data_i(boundary_rx_data[64*N*k+:64*N]),
        .boundary_rx_ctl_i(boundary_rx_ctl[8*N*k+:8*N]),
        .boundary_tx_data_o(boundary_tx_data_o[64*N*k+:64*N]),
        .boundary_tx_ctl_o(boundary_tx_ctl_o[8*N*k+:8*N]),
        .mtx_ctl_i(mtx_ctl_i[8*N*k+:8*N]),
        .mtx_data_i(mtx_data_i[64*N*k+:64*N]),
        .mtx_ready_o(mtx_ready_o[8*N*k+:8*N]),
        .mrx0_data_o(mrx0_data_o[64*N*k+:64*N]),
        .mrx0_ctl_o(mrx0_ctl_o[8*N*k+:8*N]),
        .mrx1_data_o(mrx1_data_o[64*N*k+:64*N]),
        .mrx1_ctl_o(mrx1_ctl_o[8*N*k+:8*N]),
        .mrx2_data_o(mrx2_data_o[64*N*k+:64*N]),
        .mrx2_ctl_o(mrx2_ctl_o[8*N*k+:8*N]),
        .mrx3_data_o(mrx3_data_o[64*N*k+:64*N]),
        .mrx3_ctl_o(mrx3_ctl_o[8*N*k+:8*N]),
        .reg_we_i(reg_we_i[8*N*k+:8*N]),
        .reg_addr_i(reg_addr_i[8*N*k+:8*N]),
        .reg_wdata_i(reg_wdata_i[32*N*k+:32*N]),
        .reg_rdata_o(reg_rdata_o[32*N*k+:32*N]),
        .p1_tx_data_o(p1_tx_data_o[64*N*k+:64*N]),
        .p1_tx_ctl_o(p1_tx_ctl_o[8*N*k+:8*N]),
        .p2_tx_data_o(p2_tx_data_o[64*N*k+:64*N]),
        .p2_tx_ctl_o(p2_tx_ctl_o[8*N*k+:8*N]),
        .quiescent_o(quiescent_o[8*N*k+:8*N]),
        .wake_at_o(wake_at_o[64*N*k+:64*N])
    );
  end
endmodule
