// The rest of uart, whole: when idle_o is high behind an edge, the next edge changes no register and no byte of the queue,
// as long as no input has changed. So idle_o stays, and a simulator may leave time out.
module uart_rest (
    input logic        clk_i,
    input logic        rst_i,
    input logic [23:0] divisor_i,
    input logic        rx_i,
    input logic        cts_i,
    input logic        tx_valid_i,
    input logic [ 7:0] tx_data_i,
    input logic        rx_ready_i,
    input logic [ 3:0] clear_i,
    input logic [ 7:0] where_i
);
  logic idle_o;
  // A register that had a name out here would not be compared.
  uart #(.PARITY(1)) dut (.tx_o(), .rts_o(), .tx_ready_o(), .rx_valid_o(), .rx_data_o(), .errors_o(), .*);

  logic started_q = 1'b0;
  logic [7:0] where_q;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!started_q) where_q <= where_i;
  end
  always_comb assume (started_q || rst_i);

  logic quiet_q, still;
  assign still = started_q && quiet_q;
  always_ff @(posedge clk_i) quiet_q <= started_q && idle_o && !rst_i;

  // The outputs stay, too: a register that nothing else reads would be seen nowhere else.
  logic [15:0] shown, shown_q;
  assign shown = {dut.tx_o, dut.rts_o, dut.tx_ready_o, dut.rx_valid_o, dut.rx_data_o, dut.errors_o};
  always_ff @(posedge clk_i) shown_q <= shown;
  always_comb if (still) assert (shown == shown_q);

  // One comparison a register and memory.
  `include "state.svh"
endmodule
