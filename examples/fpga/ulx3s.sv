// A ULX3S as the hardware of one GPU: hil_board behind its USB serial port, at 40 MHz.
module ulx3s #(
    parameter int BAUD = 1_000_000
) (
    input  logic       clk_i,    // 25 MHz
    input  logic       rst_i,    // the button FIRE1
    input  logic       rx_i,     // from the USB serial chip
    output logic       tx_o,
    output logic [7:0] led_o,    // 0: the clock runs; 1: something goes on
    output logic       keep_o    // low would let the board's ESP32 load something else
);
  localparam int CLOCK = 40_000_000;
  localparam int OVERSAMPLE = 16;
  localparam int DIVISOR = (CLOCK / OVERSAMPLE * 256 + BAUD / 2) / BAUD;

  logic clk, locked;
  (* ICP_CURRENT = "12", LPF_RESISTOR = "8", MFG_ENABLE_FILTEROPAMP = "1", MFG_GMCREF_SEL = "2" *)
  EHXPLLL #(
      .CLKI_DIV    (5),
      .CLKFB_DIV   (8),
      .CLKOP_ENABLE("ENABLED"),
      .CLKOP_DIV   (15),         // 600 MHz inside
      .CLKOP_CPHASE(7),
      .FEEDBK_PATH ("CLKOP")
  ) u_pll (
      .CLKI (clk_i),
      .CLKFB(clk),
      .RST  (1'b0),
      .CLKOP(clk),
      .LOCK (locked)
  );

  // In reset from power-up on, until the clock is steady and the button is not held.
  logic [3:0] rst_q = 4'hF;
  always_ff @(posedge clk) rst_q <= {rst_q[2:0], rst_i || !locked};

  logic idle, unused_rts;
  hil_board #(
      .OVERSAMPLE(OVERSAMPLE)
  ) u_board (
      .clk_i    (clk),
      .rst_i    (rst_q[3]),
      .divisor_i(24'(DIVISOR)),
      .rx_i,
      .tx_o,
      .cts_i    (1'b1),        // the computer takes all; it asks for no more before it has its answer
      .rts_o    (unused_rts),
      .idle_o   (idle)
  );

  // Long enough to be seen.
  logic [21:0] seen_q;
  always_ff @(posedge clk) begin
    if (rst_q[3]) seen_q <= '0;
    else if (!idle) seen_q <= '1;
    else if (seen_q != '0) seen_q <= seen_q - 1'b1;
  end

  assign led_o  = {6'h00, seen_q != '0, !rst_q[3]};
  assign keep_o = 1'b1;
endmodule

// What is used of the chip's clock generator.
(* blackbox *)
module EHXPLLL #(
    parameter int    CLKI_DIV     = 1,
    parameter int    CLKFB_DIV    = 1,
    parameter string CLKOP_ENABLE = "ENABLED",
    parameter int    CLKOP_DIV    = 8,
    parameter int    CLKOP_CPHASE = 0,
    parameter string FEEDBK_PATH  = "CLKOP"
) (
    input  logic CLKI,
    input  logic CLKFB,
    input  logic RST,
    output logic CLKOP,
    output logic LOCK
);
endmodule
