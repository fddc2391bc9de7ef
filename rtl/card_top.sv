// A whole card as one design: N cells closed into a ring, port 2 of each wired to port 1 of the next. For
// cocotb benches, and as the yardstick that node-by-node simulation is compared with.
//
// Ports of all cells lie side by side, cell i at [W*i +: W]. Time is an input here too.
module card_top
  import ringhil_pkg::*;
#(
    parameter int N = 4
) (
    input  logic                            clk_i,
    input  logic                            rst_i,
    input  logic [                    63:0] now_i,
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
  // One scope a link, between cell i and the next one: nets in scopes of their own, so that the closed ring is
  // not taken for a loop.
  for (genvar i = 0; i < N; i++) begin : g_link
    logic [63:0] cw_data, ccw_data;
    logic [7:0] cw_ctl, ccw_ctl;
  end

  for (genvar i = 0; i < N; i++) begin : g_cell
    localparam int BEFORE = (i + N - 1) % N;
    logic [3:0] mrx0_ctl, mrx1_ctl, mrx2_ctl, mrx3_ctl;
    logic ready, quiescent, unused_ok;
    assign unused_ok = &{mtx_ctl_i[8*i+5+:3], reg_we_i[8*i+1+:7]};

    ring_cell u_cell (
        .clk_i,
        .rst_i,
        .now_i,
        .card_id_i,
        .node_id_i(16'(i)),
        .ring_size_i(16'(N)),
        .fault_i(fault_i[FAULT_PORT_WIDTH*i+:FAULT_PORT_WIDTH]),
        .link_fault_i(link_fault_i[8*i+:8]),
        .ber_port1_i(ber_port1_i[16*i+:16]),
        .ber_port2_i(ber_port2_i[16*i+:16]),
        .ber_host_i(ber_host_i[16*i+:16]),
        .ber_boundary_i(ber_boundary_i[16*i+:16]),
        .link_delay_i(link_delay_i[32*i+:32]),
        .p1_rx_data_i(g_link[BEFORE].cw_data),
        .p1_rx_ctl_i(g_link[BEFORE].cw_ctl),
        .p1_tx_data_o(g_link[BEFORE].ccw_data),
        .p1_tx_ctl_o(g_link[BEFORE].ccw_ctl),
        .p2_rx_data_i(g_link[i].ccw_data),
        .p2_rx_ctl_i(g_link[i].ccw_ctl),
        .p2_tx_data_o(g_link[i].cw_data),
        .p2_tx_ctl_o(g_link[i].cw_ctl),
        .host_rx_data_i(host_rx_data_i[64*i+:64]),
        .host_rx_ctl_i(host_rx_ctl_i[8*i+:8]),
        .host_tx_data_o(host_tx_data_o[64*i+:64]),
        .host_tx_ctl_o(host_tx_ctl_o[8*i+:8]),
        .boundary_rx_data_i(boundary_rx_data_i[64*i+:64]),
        .boundary_rx_ctl_i(boundary_rx_ctl_i[8*i+:8]),
        .boundary_tx_data_o(boundary_tx_data_o[64*i+:64]),
        .boundary_tx_ctl_o(boundary_tx_ctl_o[8*i+:8]),
        .mtx_valid_i(mtx_ctl_i[8*i]),
        .mtx_sof_i(mtx_ctl_i[8*i+1]),
        .mtx_eof_i(mtx_ctl_i[8*i+2]),
        .mtx_port_i(mtx_ctl_i[8*i+3+:2]),
        .mtx_data_i(mtx_data_i[64*i+:64]),
        .mtx_ready_o(ready),
        .mrx0_data_o(mrx0_data_o[64*i+:64]),
        .mrx0_ctl_o(mrx0_ctl),
        .mrx1_data_o(mrx1_data_o[64*i+:64]),
        .mrx1_ctl_o(mrx1_ctl),
        .mrx2_data_o(mrx2_data_o[64*i+:64]),
        .mrx2_ctl_o(mrx2_ctl),
        .mrx3_data_o(mrx3_data_o[64*i+:64]),
        .mrx3_ctl_o(mrx3_ctl),
        .reg_we_i(reg_we_i[8*i]),
        .reg_addr_i(reg_addr_i[8*i+:8]),
        .reg_wdata_i(reg_wdata_i[32*i+:32]),
        .reg_rdata_o(reg_rdata_o[32*i+:32]),
        .quiescent_o(quiescent),
        .wake_at_o(wake_at_o[64*i+:64])
    );

    assign mtx_ready_o[8*i+:8] = {7'h0, ready};
    assign mrx0_ctl_o[8*i+:8] = {4'h0, mrx0_ctl};
    assign mrx1_ctl_o[8*i+:8] = {4'h0, mrx1_ctl};
    assign mrx2_ctl_o[8*i+:8] = {4'h0, mrx2_ctl};
    assign mrx3_ctl_o[8*i+:8] = {4'h0, mrx3_ctl};
    assign quiescent_o[8*i+:8] = {7'h0, quiescent};
    assign p1_tx_data_o[64*i+:64] = g_link[BEFORE].ccw_data;
    assign p1_tx_ctl_o[8*i+:8] = g_link[BEFORE].ccw_ctl;
    assign p2_tx_data_o[64*i+:64] = g_link[i].cw_data;
    assign p2_tx_ctl_o[8*i+:8] = g_link[i].cw_ctl;
  end
endmodule
