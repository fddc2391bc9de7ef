// A GPU's outputs as they were when the bridge looked. Its clock rises where they have come to rest, and is no other's, so
// that what leads to it, also through the GPU without a register, and from it may take as long as the GPU's own paths.
module hil_look #(
    parameter int WIDTH = 8
) (
    input  logic             clk_i,
    input  logic [WIDTH-1:0] data_i,
    output logic [WIDTH-1:0] data_o
);
  always_ff @(posedge clk_i) data_o <= data_i;
endmodule
