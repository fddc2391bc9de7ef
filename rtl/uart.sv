// A UART: transmitter, receiver with a queue of 2**LOG2 bytes, flow control by RTS and CTS.
//
// - divisor_i: clocks a tick, 16 bits before the binary point and 8 behind it; OVERSAMPLE ticks are a bit. It is kept
//   within 0.2 % of any rate up to clock / OVERSAMPLE.
// - rx_i, cts_i come from anywhere: two registers bring them into this clock.
// - rts_o is high while more than SPARE places of the queue are free: so many bytes may still come when it falls. One
//   may from a uart_tx, others send on for longer. cts_i low keeps the next byte from being sent. Both are active high
//   here; on the wires of a board they are mostly active low.
// - A byte for which there is no place is lost (ERR_OVERRUN); those in the queue stay.
// - errors_o: what went wrong, a bit each, until clear_i takes it away. What goes wrong in that very cycle stays.
// - While idle_o is high behind an edge, no edge changes a register unless an input changes: nothing counts at rest.
module uart #(
    parameter int OVERSAMPLE = 16,  // ticks a bit, 4 at least
    parameter int DATA_BITS  = 8,
    parameter int PARITY     = 0,   // 0 none, 1 even, 2 odd
    parameter int STOP_BITS  = 1,   // 1 or 2
    parameter int LOG2       = 4,
    parameter int SPARE      = 4    // less than 2**LOG2
) (
    input  logic                 clk_i,
    input  logic                 rst_i,
    input  logic [         23:0] divisor_i,
    input  logic                 rx_i,
    output logic                 tx_o,
    input  logic                 cts_i,
    output logic                 rts_o,
    input  logic                 tx_valid_i,
    input  logic [DATA_BITS-1:0] tx_data_i,
    output logic                 tx_ready_o,
    output logic                 rx_valid_o,
    output logic [DATA_BITS-1:0] rx_data_o,
    input  logic                 rx_ready_i,
    output logic [          3:0] errors_o,    // overrun, framing, parity, break, from bit 0
    input  logic [          3:0] clear_i,
    output logic                 idle_o
);
  localparam logic [LOG2:0] DEPTH = {1'b1, {LOG2{1'b0}}};
  localparam logic [LOG2:0] ENOUGH = DEPTH - (LOG2 + 1)'(SPARE);
  localparam int ERR_OVERRUN = 0;
  localparam int ERR_FRAMING = 1;
  localparam int ERR_PARITY = 2;
  localparam int ERR_BREAK = 3;

  logic [1:0] rx_q, cts_q;  // the later one in bit 1
  logic rts_q, rts_d, came, pop, full, tx_busy, rx_busy;
  logic [DATA_BITS-1:0] byte_in;
  logic [LOG2:0] count;
  logic [3:0] errors_q, errors_d, events;

  uart_tx #(
      .OVERSAMPLE(OVERSAMPLE),
      .DATA_BITS (DATA_BITS),
      .PARITY    (PARITY),
      .STOP_BITS (STOP_BITS)
  ) u_tx (
      .clk_i,
      .rst_i,
      .divisor_i,
      .cts_i  (cts_q[1]),
      .valid_i(tx_valid_i),
      .data_i (tx_data_i),
      .ready_o(tx_ready_o),
      .line_o (tx_o),
      .busy_o (tx_busy)
  );

  uart_rx #(
      .OVERSAMPLE(OVERSAMPLE),
      .DATA_BITS (DATA_BITS),
      .PARITY    (PARITY)
  ) u_rx (
      .clk_i,
      .rst_i,
      .divisor_i,
      .line_i   (rx_q[1]),
      .valid_o  (came),
      .data_o   (byte_in),
      .framing_o(events[ERR_FRAMING]),
      .parity_o (events[ERR_PARITY]),
      .break_o  (events[ERR_BREAK]),
      .busy_o   (rx_busy)
  );

  assign pop  = rx_valid_o && rx_ready_i;
  assign full = count == DEPTH;
  assign events[ERR_OVERRUN] = came && full && !pop;

  uart_fifo #(
      .LOG2 (LOG2),
      .WIDTH(DATA_BITS)
  ) u_fifo (
      .clk_i,
      .rst_i,
      .push_i (came && !events[ERR_OVERRUN]),
      .data_i (byte_in),
      .pop_i  (pop),
      .valid_o(rx_valid_o),
      .data_o (rx_data_o),
      .count_o(count)
  );

  assign rts_d    = count < ENOUGH;
  assign errors_d = errors_q & ~clear_i | events;
  assign rts_o    = rts_q;
  assign errors_o = errors_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      rx_q     <= 2'b00;
      cts_q    <= 2'b00;
      rts_q    <= 1'b0;
      errors_q <= 4'h0;
    end else begin
      rx_q     <= {rx_q[0], rx_i};
      cts_q    <= {cts_q[0], cts_i};
      rts_q    <= rts_d;
      errors_q <= errors_d;
    end
  end

  assign idle_o = !tx_busy && !(tx_valid_i && tx_ready_o) && !rx_busy && !pop && rx_q == {2{rx_i}}
      && cts_q == {2{cts_i}} && rts_q == rts_d && errors_q == errors_d;
endmodule
