// The medium between two ports, one direction: passes the link through unchanged, or spoils it.
//
//   cut_i       no carrier, nothing arrives
//   ber_i       of 65,536 flits, how many arrive with one data bit flipped (0: none)
//
// Faults act in the cycle in which they are set. Without faults this is wire: no delay, no state change.
module link_channel
  import ringhil_pkg::*;
#(
    parameter logic [31:0] SEED = 32'h1
) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        cut_i,
    input  logic [15:0] ber_i,
    input  logic [63:0] data_i,
    input  logic [ 7:0] ctl_i,
    output logic [63:0] data_o,
    output logic [ 7:0] ctl_o
);
  // Moves only with flits, so that an idle link stays quiescent and a run repeats exactly.
  logic [31:0] lfsr_q;
  logic flip;

  assign flip   = (lfsr_q[15:0] < ber_i) && ctl_i[LINK_VALID];
  assign ctl_o  = cut_i ? 8'h0 : ctl_i;
  assign data_o = cut_i ? 64'h0 : data_i ^ (flip ? 64'h1 << lfsr_q[21:16] : 64'h0);

  always_ff @(posedge clk_i) begin
    if (rst_i) lfsr_q <= SEED;
    else if (ctl_i[LINK_VALID] && ber_i != 16'h0)
      lfsr_q <= {lfsr_q[0] ^ lfsr_q[10] ^ lfsr_q[30] ^ lfsr_q[31], lfsr_q[31:1]};
  end
endmodule
