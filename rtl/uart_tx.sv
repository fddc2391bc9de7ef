// Transmitting end of a UART: a start bit (low), DATA_BITS bits with the least significant one first, a parity bit if
// there is one, STOP_BITS stop bits (high). Each bit takes OVERSAMPLE ticks. The line is high while nothing is sent.
//
// - A byte is taken in a cycle in which valid_i and ready_o are high; its start bit is on the line from the next one on.
// - The next byte is taken in the last cycle of the last stop bit at the earliest: then frames follow each other without
//   a gap, and the ticks go on as they were, so that no rounding adds up.
// - None is taken while cts_i is low; a frame that has begun is sent to its end.
// line_o is a register.
module uart_tx #(
    parameter int OVERSAMPLE = 16,  // ticks a bit
    parameter int DATA_BITS  = 8,
    parameter int PARITY     = 0,   // 0 none, 1 even, 2 odd
    parameter int STOP_BITS  = 1    // 1 or 2
) (
    input  logic                 clk_i,
    input  logic                 rst_i,
    input  logic [         23:0] divisor_i,  // 1/256 clocks a tick
    input  logic                 cts_i,      // of this clock
    input  logic                 valid_i,
    input  logic [DATA_BITS-1:0] data_i,
    output logic                 ready_o,
    output logic                 line_o,
    output logic                 busy_o
);
  localparam int PARITY_BITS = PARITY == 0 ? 0 : 1;
  localparam int FRAME = 1 + DATA_BITS + PARITY_BITS + STOP_BITS;  // bits
  localparam int TICKS_W = $clog2(OVERSAMPLE);
  localparam int BITS_W = $clog2(FRAME);
  localparam logic [TICKS_W-1:0] LAST_TICK = TICKS_W'(OVERSAMPLE - 1);
  localparam logic [BITS_W-1:0] LAST_BIT = BITS_W'(FRAME - 1);

  logic [FRAME-1:0] frame_q, framed;  // the bit on the line lowest; high behind the last one
  logic [TICKS_W-1:0] ticks_q;
  logic [BITS_W-1:0] bits_q;
  logic busy_q, tick, rest, next_bit, ends, take;

  uart_ticks u_ticks (
      .clk_i,
      .rst_i,
      .run_i (busy_q),
      .divisor_i,
      .tick_o(tick),
      .rest_o(rest)
  );

  always @* begin
    framed = '1;
    framed[0] = 1'b0;
    framed[DATA_BITS:1] = data_i;
    if (PARITY != 0) framed[DATA_BITS+1] = ^data_i ^ (PARITY == 2);
  end

  assign next_bit = tick && ticks_q == LAST_TICK;
  assign ends     = next_bit && bits_q == LAST_BIT;
  assign ready_o  = cts_i && (!busy_q || ends);
  assign take     = valid_i && ready_o;
  assign line_o   = frame_q[0];
  assign busy_o   = busy_q || !rest;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      frame_q <= '1;
      ticks_q <= '0;
      bits_q  <= '0;
      busy_q  <= 1'b0;
    end else if (take) begin
      frame_q <= framed;
      ticks_q <= '0;
      bits_q  <= '0;
      busy_q  <= 1'b1;
    end else if (tick) begin
      ticks_q <= next_bit ? '0 : ticks_q + 1'b1;
      if (next_bit) begin
        frame_q <= {1'b1, frame_q[FRAME-1:1]};
        bits_q  <= ends ? '0 : bits_q + 1'b1;
        busy_q  <= !ends;
      end
    end
  end

`ifndef SYNTHESIS
  // Nothing but ones on an idle line.
  always @(posedge clk_i) begin
    if (!rst_i) begin
      assert (busy_q || &frame_q)
      else $fatal(1, "the line is not at rest");
    end
  end
`endif
endmodule
