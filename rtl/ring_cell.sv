// The unit of simulation: a GPU node with the media in front of its ports, so that a cut or noisy link is RTL
// too. link_fault_i: see LINK_FAULT_*; each ber_i is the share of flits, of 65,536, that arrive damaged;
// link_delay_i: by how many cycles later everything arrives, a byte each for port 1, port 2, CPU, other card.
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
  logic [63:0] p1_data, p2_data, host_data, boundary_data;
  logic [7:0] p1_ctl, p2_ctl, host_ctl, boundary_ctl;
  logic [3:0] channel_busy;
  logic node_quiescent, unused_ok;
  assign unused_ok = &{link_delay_i[31:30], link_delay_i[23:22], link_delay_i[15:14], link_delay_i[7:6],
                       link_fault_i[7:4]};

  link_channel #(
      .SEED(32'h5EED_0001)
  ) u_port1 (
      .clk_i,
      .rst_i,
      .cut_i (link_fault_i[LINK_FAULT_CUT_PORT1]),
      .ber_i (ber_port1_i),
      .delay_i(link_delay_i[5:0]),
      .data_i(p1_rx_data_i),
      .ctl_i (p1_rx_ctl_i),
      .data_o(p1_data),
      .ctl_o (p1_ctl),
      .busy_o(channel_busy[0])
  );

  link_channel #(
      .SEED(32'h5EED_0002)
  ) u_port2 (
      .clk_i,
      .rst_i,
      .cut_i (link_fault_i[LINK_FAULT_CUT_PORT2]),
      .ber_i (ber_port2_i),
      .delay_i(link_delay_i[13:8]),
      .data_i(p2_rx_data_i),
      .ctl_i (p2_rx_ctl_i),
      .data_o(p2_data),
      .ctl_o (p2_ctl),
      .busy_o(channel_busy[1])
  );

  link_channel #(
      .SEED(32'h5EED_0003)
  ) u_host (
      .clk_i,
      .rst_i,
      .cut_i (link_fault_i[LINK_FAULT_CUT_HOST]),
      .ber_i (ber_host_i),
      .delay_i(link_delay_i[21:16]),
      .data_i(host_rx_data_i),
      .ctl_i (host_rx_ctl_i),
      .data_o(host_data),
      .ctl_o (host_ctl),
      .busy_o(channel_busy[2])
  );

  link_channel #(
      .SEED(32'h5EED_0004)
  ) u_boundary (
      .clk_i,
      .rst_i,
      .cut_i (link_fault_i[LINK_FAULT_CUT_BOUNDARY]),
      .ber_i (ber_boundary_i),
      .delay_i(link_delay_i[29:24]),
      .data_i(boundary_rx_data_i),
      .ctl_i (boundary_rx_ctl_i),
      .data_o(boundary_data),
      .ctl_o (boundary_ctl),
      .busy_o(channel_busy[3])
  );

  gpu_node u_node (
      .p1_rx_data_i(p1_data),
      .p1_rx_ctl_i(p1_ctl),
      .p2_rx_data_i(p2_data),
      .p2_rx_ctl_i(p2_ctl),
      .host_rx_data_i(host_data),
      .host_rx_ctl_i(host_ctl),
      .boundary_rx_data_i(boundary_data),
      .boundary_rx_ctl_i(boundary_ctl),
      .quiescent_o(node_quiescent),
      .*
  );

  assign quiescent_o = node_quiescent && channel_busy == 4'b0000;
endmodule
