// The head of the netlist that is simulated. The other models are Yosys's own (share/ecp5), which the Makefile puts behind
// this; with a look-up table that is a vector, too, Verilator is done in half the time.

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
