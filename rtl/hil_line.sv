// A hil_board with the line to it and the computer's UART: ports as those of hil_bridge, but every byte goes bit by bit.
module hil_line #(
    parameter int OVERSAMPLE = 4
) (
    input  logic       clk_i,
    input  logic       rst_i,
    input  logic       rx_valid_i,
    input  logic [7:0] rx_data_i,
    output logic       rx_ready_o,
    output logic       tx_valid_o,
    output logic [7:0] tx_data_o,
    input  logic       tx_ready_i,
    output logic       idle_o
);
  localparam logic [23:0] ONE_CLOCK = 24'h100;

  logic there, back, may_send, may_answer, uart_idle, board_idle;
  logic [3:0] errors;

  uart #(
      .OVERSAMPLE(OVERSAMPLE)
  ) u_computer (
      .clk_i,
      .rst_i,
      .divisor_i (ONE_CLOCK),
      .rx_i      (back),
      .tx_o      (there),
      .cts_i     (may_send),
      .rts_o     (may_answer),
      .tx_valid_i(rx_valid_i),
      .tx_data_i (rx_data_i),
      .tx_ready_o(rx_ready_o),
      .rx_valid_o(tx_valid_o),
      .rx_data_o (tx_data_o),
      .rx_ready_i(tx_ready_i),
      .errors_o  (errors),
      .clear_i   (errors),
      .idle_o    (uart_idle)
  );

  hil_board #(
      .OVERSAMPLE(OVERSAMPLE)
  ) u_board (
      .clk_i,
      .rst_i,
      .divisor_i(ONE_CLOCK),
      .rx_i     (there),
      .tx_o     (back),
      .cts_i    (may_answer),
      .rts_o    (may_send),
      .idle_o   (board_idle)
  );

  assign idle_o = uart_idle && board_idle && !tx_valid_o;
endmodule
