// What goes into an FPGA: a UART, and the bridge to a GPU behind it. uart.sv says what the pins are.
//
// divisor_i: clocks a tick, 1/256 each; OVERSAMPLE ticks are a bit.
module hil_board #(
    parameter int OVERSAMPLE = 16
) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic [23:0] divisor_i,
    input  logic        rx_i,
    output logic        tx_o,
    input  logic        cts_i,
    output logic        rts_o,
    output logic        idle_o
);
  logic rx_valid, rx_ready, tx_valid, tx_ready, uart_idle, bridge_idle;
  logic [7:0] rx_data, tx_data;
  logic [3:0] errors;

  // What was wrong with a byte is seen by the message that it is missing from.
  uart #(
      .OVERSAMPLE(OVERSAMPLE)
  ) u_uart (
      .clk_i,
      .rst_i,
      .divisor_i,
      .rx_i,
      .tx_o,
      .cts_i,
      .rts_o,
      .tx_valid_i(tx_valid),
      .tx_data_i (tx_data),
      .tx_ready_o(tx_ready),
      .rx_valid_o(rx_valid),
      .rx_data_o (rx_data),
      .rx_ready_i(rx_ready),
      .errors_o  (errors),
      .clear_i   (errors),
      .idle_o    (uart_idle)
  );

  hil_bridge u_bridge (
      .clk_i,
      .rst_i,
      .rx_valid_i(rx_valid),
      .rx_data_i (rx_data),
      .rx_ready_o(rx_ready),
      .tx_valid_o(tx_valid),
      .tx_data_o (tx_data),
      .tx_ready_i(tx_ready),
      .idle_o    (bridge_idle)
  );

  assign idle_o = uart_idle && bridge_idle && !rx_valid;
endmodule
