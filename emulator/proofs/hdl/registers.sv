// A setting, any one, reads as its reset value until it is written, and then as what was written last, in the bits that
// it has. It is read in each cycle in which nothing is written, and no two writes to others follow each other at once:
// then each value that is read follows from the one before, which makes the proof inductive.
module ringhil_claim_registers
  import ringhil_pkg::*;
(
    `include "claim_ports.svh"
);
  logic [7:0] address;
  logic [31:0] value_q, bits, reset;
  logic other_q;
  assign address = {4'h0, pick_i[3:0]};
  always_comb begin
    bits = '1;
    unique case (address)
      REG_GPU_TYPE, REG_BOUNDARY_PEER: bits = 32'h0000_00FF;
      REG_WEIGHT, REG_CROSSINGS, REG_EXITS: bits = 32'h0000_FFFF;
      default: ;
    endcase
    unique case (address)
      REG_CONTROL: reset = RESET_CONTROL;
      REG_GPU_TYPE: reset = RESET_GPU_TYPE;
      REG_WEIGHT: reset = RESET_WEIGHT;
      REG_WATCHDOG: reset = RESET_WATCHDOG;
      REG_HEARTBEAT: reset = RESET_HEARTBEAT;
      REG_ALLOWANCE: reset = RESET_ALLOWANCE;
      REG_ALLOWANCE_PERIOD: reset = RESET_ALLOWANCE_PERIOD;
      REG_LINK_RESTORE: reset = RESET_LINK_RESTORE;
      REG_COMPUTE_SETUP: reset = RESET_COMPUTE_SETUP;
      REG_COMPUTE_PER_FLIT: reset = RESET_COMPUTE_PER_FLIT;
      REG_GPU_RESTORE: reset = RESET_GPU_RESTORE;
      REG_BOUNDARY_PEER: reset = RESET_BOUNDARY_PEER;
      REG_CROSSINGS: reset = RESET_CROSSINGS;
      REG_EXITS: reset = RESET_EXITS;
      default: reset = RESET_MEMORY;
    endcase
  end
  always_ff @(posedge clk_i) begin
    other_q <= ready_i && reg_addr_i != address;
    if (!ready_i) value_q <= reset;
    else if (reg_we_i && reg_addr_i == address) value_q <= reg_wdata_i;
  end
  always_comb begin
    assume (address <= REG_MEMORY);
    if (!ready_i || !reg_we_i || other_q) assume (reg_addr_i == address);
    if (ready_i && reg_addr_i == address) kept: assert ((reg_rdata_i & bits) == (value_q & bits));
  end
endmodule
