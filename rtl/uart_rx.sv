// Receiving end of a UART, of frames as uart_tx sends them.
//
// Ticks are counted from the falling edge of each start bit on, OVERSAMPLE a bit. What a bit is, three samples say by
// majority: in the middle of the bit, a tick before and a tick after. So one wrong sample of these does no harm.
//
// | what comes                                     | what happens                                              |
// |------------------------------------------------|-----------------------------------------------------------|
// | a frame                                        | valid_o for a cycle, with the byte, in the middle of the  |
// |                                                | (first) stop bit, whose rest isn't looked at              |
// | a low that is over before the middle of a bit  | nothing: it was no start bit                              |
// | a frame with wrong parity                      | parity_o for a cycle; no byte                             |
// | a frame without stop bit                       | framing_o for a cycle; no byte                            |
// | the line low for a whole frame, stop bit too   | break_o for a cycle; no byte                              |
//
// Behind the last two the line has to be high before a start bit is looked for, so a break is told once.
module uart_rx #(
    parameter int OVERSAMPLE = 16,  // ticks a bit, 4 at least
    parameter int DATA_BITS  = 8,
    parameter int PARITY     = 0    // 0 none, 1 even, 2 odd
) (
    input  logic                 clk_i,
    input  logic                 rst_i,
    input  logic [         23:0] divisor_i,  // 1/256 clocks a tick
    input  logic                 line_i,     // of this clock
    output logic                 valid_o,
    output logic [DATA_BITS-1:0] data_o,
    output logic                 framing_o,
    output logic                 parity_o,
    output logic                 break_o,
    output logic                 busy_o
);
  localparam int SHIFT = DATA_BITS + (PARITY == 0 ? 0 : 1);  // bits between start and stop bit
  localparam int TICKS_W = $clog2(OVERSAMPLE);
  localparam int BITS_W = $clog2(SHIFT + 2);
  localparam logic [TICKS_W-1:0] LAST_TICK = TICKS_W'(OVERSAMPLE - 1);
  localparam logic [TICKS_W-1:0] MIDDLE = TICKS_W'(OVERSAMPLE / 2 - 1);  // ticks are counted from 0
  localparam logic [BITS_W-1:0] STOP = BITS_W'(SHIFT + 1);

  typedef enum logic [1:0] {
    WAITING,
    FRAME,
    LOW  // behind a frame without stop bit
  } state_e;

  state_e state_q;
  logic [SHIFT-1:0] bits_q;  // the last one highest
  logic [TICKS_W-1:0] ticks_q;
  logic [BITS_W-1:0] place_q;  // in the frame; 0 is the start bit
  logic [1:0] samples_q;
  logic tick, rest, decide, level, ends, wrong, in_frame;

  assign in_frame = state_q == FRAME;  // not at the port: Icarus 11 takes an enum there for undefined

  uart_ticks u_ticks (
      .clk_i,
      .rst_i,
      .run_i (in_frame),
      .divisor_i,
      .tick_o(tick),
      .rest_o(rest)
  );

  assign level  = samples_q[1] && samples_q[0] || line_i && (samples_q[1] || samples_q[0]);
  assign decide = tick && ticks_q == MIDDLE + 1'b1;
  assign ends   = decide && place_q == STOP;
  assign wrong  = PARITY != 0 && ^bits_q != (PARITY == 2);

  assign data_o    = bits_q[DATA_BITS-1:0];
  assign valid_o   = ends && level && !wrong;
  assign parity_o  = ends && level && wrong;
  assign break_o   = ends && !level && bits_q == '0;
  assign framing_o = ends && !level && bits_q != '0;
  // With the line as it is now, something goes on.
  assign busy_o    = in_frame || !rest || (state_q == WAITING) != line_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q   <= LOW;
      ticks_q   <= '0;
      place_q   <= '0;
      bits_q    <= '0;
      samples_q <= 2'b00;
    end else begin
      unique case (state_q)
        WAITING: if (!line_i) state_q <= FRAME;
        LOW: if (line_i) state_q <= WAITING;
        default: begin
          if (tick) begin
            samples_q <= {samples_q[0], line_i};
            ticks_q   <= ticks_q == LAST_TICK ? '0 : ticks_q + 1'b1;
            if (ticks_q == LAST_TICK) place_q <= place_q + 1'b1;
          end
          if (decide) begin
            if (place_q != '0 && !ends) bits_q <= SHIFT'({level, bits_q} >> 1);
            if (ends || (place_q == '0 && level)) begin
              state_q <= level ? WAITING : LOW;
              ticks_q <= '0;
              place_q <= '0;
            end
          end
        end
      endcase
    end
  end

`ifndef SYNTHESIS
  // A frame that is over is one thing or the other, and one that begins begins at its beginning.
  always @(posedge clk_i) begin
    if (!rst_i) begin
      assert (2'(valid_o) + 2'(parity_o) + 2'(break_o) + 2'(framing_o) == 2'(ends))
      else $fatal(1, "a frame is told of twice, or not at all");
      assert (in_frame || (ticks_q == '0 && place_q == '0))
      else $fatal(1, "a frame begins in its middle");
    end
  end
`endif
endmodule
