// The head of the netlist that is simulated. The other models are Yosys's own (share/ecp5), which the Makefile puts behind
// this; with a look-up table that is a vector, too, Verilator is done in half the time, and with inputs that stand still a
// cycle takes it a tenth.

// What a netlist has, and its models: a carry chain's unused ends, delays, memories that begin with something.
/* verilator lint_off DECLFILENAME */
/* verilator lint_off GENUNNAMED */
/* verilator lint_off INITIALDLY */
/* verilator lint_off PINMISSING */
/* verilator lint_off SPECIFYIGN */
/* verilator lint_off UNUSEDPARAM */
/* verilator lint_off UNUSEDSIGNAL */
/* verilator lint_off WIDTHEXPAND */

module LUT4 (
    input  A,
    input  B,
    input  C,
    input  D,
    output Z
);
  parameter [15:0] INIT = 16'h0;
  assign Z = INIT[{D, C, B, A}];
endmodule

// An input port. Behind a bridge (RINGHIL_BRIDGE) what follows from it needn't be worked out while the bridge puts the next
// row together byte by byte: all of it is given where the row stands, before each edge of the clock and before each look.
// Anywhere else it is a wire.
module GIVEN #(
    parameter WIDTH = 1,
    parameter NAME  = ""
) (
    input  [WIDTH-1:0] I,
    output [WIDTH-1:0] O
);
`ifdef RINGHIL_BRIDGE
  if (NAME == "$iopadmap$clk_i") begin : g_clock
    assign O = I;
  end else begin : g_row
    wire stands = hil_bridge.state_q == hil_bridge.STANDS;
    reg [WIDTH-1:0] row_q;
    always @(posedge stands) row_q <= I;
    assign O = row_q;
  end
`else
  assign O = I;
`endif
endmodule
