// Two UARTs, wired to each other: end 0 and end 1, the ports of both side by side, end i at [W*i +: W].
//
// flip_i[i] inverts the line that end i transmits on. While flow_i is low neither end looks at the other's RTS.
// idle_o: at both ends nothing goes on until an input changes (see uart).
module uart_link #(
    parameter int OVERSAMPLE = 16,
    parameter int LOG2       = 4,
    parameter int SPARE      = 4
) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic [47:0] divisor_i,
    input  logic        flow_i,
    input  logic [ 1:0] flip_i,
    input  logic [ 1:0] tx_valid_i,
    input  logic [15:0] tx_data_i,
    output logic [ 1:0] tx_ready_o,
    output logic [ 1:0] rx_valid_o,
    output logic [15:0] rx_data_o,
    input  logic [ 1:0] rx_ready_i,
    output logic [ 7:0] errors_o,
    input  logic [ 7:0] clear_i,
    output logic        idle_o
);
  logic [1:0] line, rts, idle;

  for (genvar i = 0; i < 2; i++) begin : g_end
    uart #(
        .OVERSAMPLE(OVERSAMPLE),
        .LOG2      (LOG2),
        .SPARE     (SPARE)
    ) u_uart (
        .clk_i,
        .rst_i,
        .divisor_i (divisor_i[24*i+:24]),
        .rx_i      (line[1-i] ^ flip_i[1-i]),
        .tx_o      (line[i]),
        .cts_i     (rts[1-i] || !flow_i),
        .rts_o     (rts[i]),
        .tx_valid_i(tx_valid_i[i]),
        .tx_data_i (tx_data_i[8*i+:8]),
        .tx_ready_o(tx_ready_o[i]),
        .rx_valid_o(rx_valid_o[i]),
        .rx_data_o (rx_data_o[8*i+:8]),
        .rx_ready_i(rx_ready_i[i]),
        .errors_o  (errors_o[4*i+:4]),
        .clear_i   (clear_i[4*i+:4]),
        .idle_o    (idle[i])
    );
  end

  assign idle_o = idle == 2'b11;
endmodule
