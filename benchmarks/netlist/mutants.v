// A look-up table with one bit that can be flipped: it is while the mutant of its number is chosen (mutants.cpp).
module MUTANT #(
    parameter [15:0] INIT   = 16'h0,
    parameter [3:0]  PLACE  = 4'h0,  // of the bit
    parameter int    NUMBER = 1
) (
    input  A,
    input  B,
    input  C,
    input  D,
    output Z
);
  import "DPI-C" function int mutant_chosen();
  import "DPI-C" function void mutant_addressed(input int number);

  bit chosen;
  initial chosen = mutant_chosen() == NUMBER;

  wire here = {D, C, B, A} == PLACE;
  always @* if (here) mutant_addressed(NUMBER);
  assign Z = INIT[{D, C, B, A}] ^ (here && chosen);
endmodule
