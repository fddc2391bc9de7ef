// Register file of a node: configuration, written by firmware and debugger, and saturating event counters.
// Reads are combinational, so that a debugger can look without time passing; writes act at the next cycle.
module registers
  import ringhil_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        we_i,
    input  logic [ 7:0] addr_i,
    input  logic [31:0] wdata_i,
    output logic [31:0] rdata_o,
    input  logic [31:0] status_i,
    input  logic [ 1:0] counted_i,
    input  logic [ 1:0] rx_bad_i,
    input  logic [ 1:0] marked_i,
    input  logic [ 5:0] ttl_dropped_i,
    input  logic [ 1:0] purged_i,
    input  logic        trips_i,
    input  logic        mutes_i,
    input  logic [ 1:0] wraps_i,
    input  logic [ 1:0] overflowed_i,
    input  logic        data_bad_i,
    input  logic [ 3:0] data_dropped_i,
    input  logic        units_done_i,
    input  logic        units_refused_i,
    input  logic        crossed_i,
    input  logic [ 2:0] stalled_i,
    output logic [31:0] control_o,
    output logic [ 7:0] gpu_type_o,
    output logic [15:0] weight_o,
    output logic [31:0] watchdog_o,
    output logic [31:0] heartbeat_o,
    output logic [31:0] allowance_o,
    output logic [31:0] allowance_period_o,
    output logic [31:0] link_restore_o,
    output logic [31:0] compute_setup_o,
    output logic [31:0] compute_per_flit_o,
    output logic [31:0] gpu_restore_o,
    output logic [ 7:0] boundary_peer_o,
    output logic [15:0] crossings_o,
    output logic [15:0] exits_o,
    output logic [ 7:0] rx_bad_port1_o,
    output logic [ 7:0] rx_bad_port2_o
);
  localparam int COUNTERS = 17;
  localparam logic [7:0] FIRST = REG_FORWARDED;

  logic [31:0] count_q[COUNTERS];
  logic [31:0] memory_q;
  // Nothing to count in most cycles.
  logic event_seen;
  assign event_seen = {counted_i, rx_bad_i, marked_i, ttl_dropped_i, purged_i, trips_i, mutes_i, wraps_i, overflowed_i,
                       data_bad_i, data_dropped_i, units_done_i, units_refused_i, crossed_i, stalled_i} != 31'h0;

  function automatic logic [31:0] counted(input logic [31:0] count, input logic [2:0] events);
    counted = count < 32'hFFFF_FFF0 ? count + 32'(events) : count;
  endfunction

  logic [7:0] offset;
  assign offset = addr_i - FIRST;

  always @* begin
    unique case (addr_i)
      REG_CONTROL: rdata_o = control_o;
      REG_GPU_TYPE: rdata_o = {24'h0, gpu_type_o};
      REG_WEIGHT: rdata_o = {16'h0, weight_o};
      REG_WATCHDOG: rdata_o = watchdog_o;
      REG_HEARTBEAT: rdata_o = heartbeat_o;
      REG_ALLOWANCE: rdata_o = allowance_o;
      REG_ALLOWANCE_PERIOD: rdata_o = allowance_period_o;
      REG_LINK_RESTORE: rdata_o = link_restore_o;
      REG_COMPUTE_SETUP: rdata_o = compute_setup_o;
      REG_COMPUTE_PER_FLIT: rdata_o = compute_per_flit_o;
      REG_GPU_RESTORE: rdata_o = gpu_restore_o;
      REG_BOUNDARY_PEER: rdata_o = {24'h0, boundary_peer_o};
      REG_CROSSINGS: rdata_o = {16'h0, crossings_o};
      REG_EXITS: rdata_o = {16'h0, exits_o};
      REG_MEMORY: rdata_o = memory_q;
      REG_STATUS: rdata_o = status_i;
      default: rdata_o = offset < 8'(COUNTERS) ? count_q[offset[4:0]] : 32'h0;
    endcase
  end

  assign rx_bad_port1_o = count_q[1][7:0];
  assign rx_bad_port2_o = count_q[2][7:0];

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      for (int i = 0; i < COUNTERS; i++) count_q[i] <= 32'h0;
      control_o          <= RESET_CONTROL;
      gpu_type_o         <= RESET_GPU_TYPE[7:0];
      weight_o           <= RESET_WEIGHT[15:0];
      watchdog_o         <= RESET_WATCHDOG;
      heartbeat_o        <= RESET_HEARTBEAT;
      allowance_o        <= RESET_ALLOWANCE;
      allowance_period_o <= RESET_ALLOWANCE_PERIOD;
      link_restore_o     <= RESET_LINK_RESTORE;
      compute_setup_o    <= RESET_COMPUTE_SETUP;
      compute_per_flit_o <= RESET_COMPUTE_PER_FLIT;
      gpu_restore_o      <= RESET_GPU_RESTORE;
      boundary_peer_o    <= RESET_BOUNDARY_PEER[7:0];
      crossings_o        <= RESET_CROSSINGS[15:0];
      exits_o            <= RESET_EXITS[15:0];
      memory_q           <= RESET_MEMORY;
    end else begin
      if (event_seen) begin
        count_q[0]  <= counted(count_q[0], 3'(counted_i[0]) + 3'(counted_i[1]));
        count_q[1]  <= counted(count_q[1], 3'(rx_bad_i[0]));
        count_q[2]  <= counted(count_q[2], 3'(rx_bad_i[1]));
        count_q[3]  <= counted(count_q[3], 3'(marked_i[0]));
        count_q[4]  <= counted(count_q[4], 3'(marked_i[1]));
        count_q[5]  <= counted(count_q[5], 3'(ttl_dropped_i[0]) + 3'(ttl_dropped_i[1]) + 3'(ttl_dropped_i[2])
                               + 3'(ttl_dropped_i[3]) + 3'(ttl_dropped_i[4]) + 3'(ttl_dropped_i[5]));
        count_q[6]  <= counted(count_q[6], 3'(purged_i[0]) + 3'(purged_i[1]));
        count_q[7]  <= counted(count_q[7], 3'(trips_i));
        count_q[8]  <= counted(count_q[8], 3'(mutes_i));
        count_q[9]  <= counted(count_q[9], 3'(wraps_i[0]) + 3'(wraps_i[1]));
        count_q[10] <= counted(count_q[10], 3'(overflowed_i[0]) + 3'(overflowed_i[1]));
        count_q[11] <= counted(count_q[11], 3'(data_bad_i));
        count_q[12] <= counted(count_q[12], 3'(data_dropped_i[0]) + 3'(data_dropped_i[1]) + 3'(data_dropped_i[2])
                               + 3'(data_dropped_i[3]));
        count_q[13] <= counted(count_q[13], 3'(units_done_i));
        count_q[14] <= counted(count_q[14], 3'(units_refused_i));
        count_q[15] <= counted(count_q[15], 3'(crossed_i));
        count_q[16] <= counted(count_q[16], 3'(stalled_i[0]) + 3'(stalled_i[1]) + 3'(stalled_i[2]));
      end
      if (we_i) begin
        unique case (addr_i)
          REG_CONTROL: control_o <= wdata_i;
          REG_GPU_TYPE: gpu_type_o <= wdata_i[7:0];
          REG_WEIGHT: weight_o <= wdata_i[15:0];
          REG_WATCHDOG: watchdog_o <= wdata_i;
          REG_HEARTBEAT: heartbeat_o <= wdata_i;
          REG_ALLOWANCE: allowance_o <= wdata_i;
          REG_ALLOWANCE_PERIOD: allowance_period_o <= wdata_i;
          REG_LINK_RESTORE: link_restore_o <= wdata_i;
          REG_COMPUTE_SETUP: compute_setup_o <= wdata_i;
          REG_COMPUTE_PER_FLIT: compute_per_flit_o <= wdata_i;
          REG_GPU_RESTORE: gpu_restore_o <= wdata_i;
          REG_BOUNDARY_PEER: boundary_peer_o <= wdata_i[7:0];
          REG_CROSSINGS: crossings_o <= wdata_i[15:0];
          REG_EXITS: exits_o <= wdata_i[15:0];
          REG_MEMORY: memory_q <= wdata_i;
          default: ;
        endcase
      end
    end
  end
endmodule
