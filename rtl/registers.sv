// Register file of a node: configuration, written by firmware and debugger, and saturating event counters.
// Reads are combinational, so that a debugger can look without time passing; writes act at the next cycle.
module registers
  import ringhil_pkg::*;
#(
    parameter int CONTEXTS = MAX_CONTEXTS,  // 0: the settings of contexts aren't there, either
    parameter bit METER = 1'b1              // 0: nor are those of the energy meter
) (
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
    input  logic [31:0] memory_held_i,
    input  logic [ 2:0] power_state_i,
    input  logic [63:0] energy_i,          // as they are while metered_o is high
    input  logic [63:0] busy_i,
    output logic        metered_o,         // one of them is read
    output logic        repowered_o,       // a setting of the meter is written
    input  logic [ 9:0] turn_i,
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
    output logic [31:0] device_memory_o,
    output logic [31:0] context_switch_o,
    output logic [31:0] default_slice_o,
    output logic [15:0] run_power_o,
    output logic [15:0] idle_power_o,
    output logic [15:0] low_power_o,
    output logic [15:0] off_power_o,
    output logic [31:0] low_after_o,
    output logic [31:0] off_after_o,
    output logic [15:0] low_wake_o,
    output logic [15:0] off_wake_o,
    output logic        lent_o,
    output logic [ 7:0] rx_bad_port1_o,
    output logic [ 7:0] rx_bad_port2_o
);
  localparam int COUNTERS = 17;
  localparam logic [7:0] FIRST = REG_FORWARDED;

  logic [31:0] count_q[COUNTERS];
  logic [31:0] control_q, watchdog_q, heartbeat_q, allowance_q, allowance_period_q, link_restore_q, compute_setup_q,
      compute_per_flit_q, gpu_restore_q;
  logic [7:0] gpu_type_q, boundary_peer_q;
  logic [15:0] weight_q, crossings_q, exits_q;
  logic [31:0] memory_q, device_memory, context_switch, default_slice;
  logic lent_q;
  // Nothing to count in most cycles.
  logic event_seen;
  assign event_seen = {counted_i, rx_bad_i, marked_i, ttl_dropped_i, purged_i, trips_i, mutes_i, wraps_i, overflowed_i,
                       data_bad_i, data_dropped_i, units_done_i, units_refused_i, crossed_i, stalled_i} != 31'h0;

  function automatic logic [31:0] counted(input logic [31:0] count, input logic [2:0] events);
    counted = count < 32'hFFFF_FFF0 ? count + 32'(events) : count;
  endfunction

  // The place of a counter, by its register.
  function automatic logic [4:0] at(input logic [7:0] address);
    at = 5'(address - FIRST);
  endfunction

  logic [7:0] offset;
  assign offset = addr_i - FIRST;

  always @* begin
    unique case (addr_i)
      REG_CONTROL: rdata_o = control_q;
      REG_GPU_TYPE: rdata_o = {24'h0, gpu_type_q};
      REG_WEIGHT: rdata_o = {16'h0, weight_q};
      REG_WATCHDOG: rdata_o = watchdog_q;
      REG_HEARTBEAT: rdata_o = heartbeat_q;
      REG_ALLOWANCE: rdata_o = allowance_q;
      REG_ALLOWANCE_PERIOD: rdata_o = allowance_period_q;
      REG_LINK_RESTORE: rdata_o = link_restore_q;
      REG_COMPUTE_SETUP: rdata_o = compute_setup_q;
      REG_COMPUTE_PER_FLIT: rdata_o = compute_per_flit_q;
      REG_GPU_RESTORE: rdata_o = gpu_restore_q;
      REG_BOUNDARY_PEER: rdata_o = {24'h0, boundary_peer_q};
      REG_CROSSINGS: rdata_o = {16'h0, crossings_q};
      REG_EXITS: rdata_o = {16'h0, exits_q};
      REG_MEMORY: rdata_o = memory_q;
      REG_DEVICE_MEMORY: rdata_o = device_memory;
      REG_CONTEXT_SWITCH: rdata_o = context_switch;
      REG_DEFAULT_SLICE: rdata_o = default_slice;
      REG_RUN_POWER: rdata_o = {16'h0, run_power_o};
      REG_IDLE_POWER: rdata_o = {16'h0, idle_power_o};
      REG_LOW_POWER: rdata_o = {16'h0, low_power_o};
      REG_OFF_POWER: rdata_o = {16'h0, off_power_o};
      REG_LOW_AFTER: rdata_o = low_after_o;
      REG_OFF_AFTER: rdata_o = off_after_o;
      REG_LOW_WAKE: rdata_o = {16'h0, low_wake_o};
      REG_OFF_WAKE: rdata_o = {16'h0, off_wake_o};
      REG_LENT: rdata_o = {31'h0, lent_q};
      REG_STATUS: rdata_o = status_i;
      REG_CONTEXTS: rdata_o = 32'(CONTEXTS);
      REG_MEMORY_HELD: rdata_o = memory_held_i;
      REG_POWER_STATE: rdata_o = {29'h0, power_state_i};
      REG_ENERGY_LOW: rdata_o = energy_i[31:0];
      REG_ENERGY_HIGH: rdata_o = energy_i[63:32];
      REG_BUSY_LOW: rdata_o = busy_i[31:0];
      REG_BUSY_HIGH: rdata_o = busy_i[63:32];
      REG_TURN: rdata_o = {22'h0, turn_i};
      default: rdata_o = offset < 8'(COUNTERS) ? count_q[offset[4:0]] : 32'h0;
    endcase
  end

  assign control_o          = control_q;
  assign gpu_type_o         = gpu_type_q;
  assign weight_o           = weight_q;
  assign watchdog_o         = watchdog_q;
  assign heartbeat_o        = heartbeat_q;
  assign allowance_o        = allowance_q;
  assign allowance_period_o = allowance_period_q;
  assign link_restore_o     = link_restore_q;
  assign compute_setup_o    = compute_setup_q;
  assign compute_per_flit_o = compute_per_flit_q;
  assign gpu_restore_o      = gpu_restore_q;
  assign boundary_peer_o    = boundary_peer_q;
  assign crossings_o        = crossings_q;
  assign exits_o            = exits_q;
  assign device_memory_o    = device_memory;
  assign context_switch_o   = context_switch;
  assign default_slice_o    = default_slice;
  assign lent_o             = lent_q;
  assign rx_bad_port1_o     = count_q[at(REG_RX_BAD_PORT1)][7:0];
  assign rx_bad_port2_o     = count_q[at(REG_RX_BAD_PORT2)][7:0];

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      for (int i = 0; i < COUNTERS; i++) count_q[i] <= 32'h0;
      control_q          <= RESET_CONTROL;
      gpu_type_q         <= RESET_GPU_TYPE[7:0];
      weight_q           <= RESET_WEIGHT[15:0];
      watchdog_q         <= RESET_WATCHDOG;
      heartbeat_q        <= RESET_HEARTBEAT;
      allowance_q        <= RESET_ALLOWANCE;
      allowance_period_q <= RESET_ALLOWANCE_PERIOD;
      link_restore_q     <= RESET_LINK_RESTORE;
      compute_setup_q    <= RESET_COMPUTE_SETUP;
      compute_per_flit_q <= RESET_COMPUTE_PER_FLIT;
      gpu_restore_q      <= RESET_GPU_RESTORE;
      boundary_peer_q    <= RESET_BOUNDARY_PEER[7:0];
      crossings_q        <= RESET_CROSSINGS[15:0];
      exits_q            <= RESET_EXITS[15:0];
      memory_q           <= RESET_MEMORY;
      lent_q             <= RESET_LENT[0];
    end else begin
      if (event_seen) begin
        count_q[at(REG_FORWARDED)] <= counted(count_q[at(REG_FORWARDED)], 3'(counted_i[0]) + 3'(counted_i[1]));
        count_q[at(REG_RX_BAD_PORT1)] <= counted(count_q[at(REG_RX_BAD_PORT1)], 3'(rx_bad_i[0]));
        count_q[at(REG_RX_BAD_PORT2)] <= counted(count_q[at(REG_RX_BAD_PORT2)], 3'(rx_bad_i[1]));
        count_q[at(REG_MARKED_PORT1)] <= counted(count_q[at(REG_MARKED_PORT1)], 3'(marked_i[0]));
        count_q[at(REG_MARKED_PORT2)] <= counted(count_q[at(REG_MARKED_PORT2)], 3'(marked_i[1]));
        count_q[at(REG_TTL_DROPPED)] <= counted(
            count_q[at(REG_TTL_DROPPED)],
            3'(ttl_dropped_i[0]) + 3'(ttl_dropped_i[1]) + 3'(ttl_dropped_i[2])
            + 3'(ttl_dropped_i[3]) + 3'(ttl_dropped_i[4]) + 3'(ttl_dropped_i[5])
        );
        count_q[at(REG_PURGED)] <= counted(count_q[at(REG_PURGED)], 3'(purged_i[0]) + 3'(purged_i[1]));
        count_q[at(REG_TRIPS)] <= counted(count_q[at(REG_TRIPS)], 3'(trips_i));
        count_q[at(REG_MUTES)] <= counted(count_q[at(REG_MUTES)], 3'(mutes_i));
        count_q[at(REG_WRAPS)] <= counted(count_q[at(REG_WRAPS)], 3'(wraps_i[0]) + 3'(wraps_i[1]));
        count_q[at(REG_OVERFLOWED)] <= counted(count_q[at(REG_OVERFLOWED)], 3'(overflowed_i[0]) + 3'(overflowed_i[1]));
        count_q[at(REG_DATA_BAD)] <= counted(count_q[at(REG_DATA_BAD)], 3'(data_bad_i));
        count_q[at(REG_DATA_DROPPED)] <= counted(
            count_q[at(REG_DATA_DROPPED)],
            3'(data_dropped_i[0]) + 3'(data_dropped_i[1]) + 3'(data_dropped_i[2]) + 3'(data_dropped_i[3])
        );
        count_q[at(REG_UNITS_DONE)] <= counted(count_q[at(REG_UNITS_DONE)], 3'(units_done_i));
        count_q[at(REG_UNITS_REFUSED)] <= counted(count_q[at(REG_UNITS_REFUSED)], 3'(units_refused_i));
        count_q[at(REG_CROSSED)] <= counted(count_q[at(REG_CROSSED)], 3'(crossed_i));
        count_q[at(REG_STALLED)] <= counted(
            count_q[at(REG_STALLED)], 3'(stalled_i[0]) + 3'(stalled_i[1]) + 3'(stalled_i[2])
        );
      end
      if (we_i) begin
        unique case (addr_i)
          REG_CONTROL: control_q <= wdata_i;
          REG_GPU_TYPE: gpu_type_q <= wdata_i[7:0];
          REG_WEIGHT: weight_q <= wdata_i[15:0];
          REG_WATCHDOG: watchdog_q <= wdata_i;
          REG_HEARTBEAT: heartbeat_q <= wdata_i;
          REG_ALLOWANCE: allowance_q <= wdata_i;
          REG_ALLOWANCE_PERIOD: allowance_period_q <= wdata_i;
          REG_LINK_RESTORE: link_restore_q <= wdata_i;
          REG_COMPUTE_SETUP: compute_setup_q <= wdata_i;
          REG_COMPUTE_PER_FLIT: compute_per_flit_q <= wdata_i;
          REG_GPU_RESTORE: gpu_restore_q <= wdata_i;
          REG_BOUNDARY_PEER: boundary_peer_q <= wdata_i[7:0];
          REG_CROSSINGS: crossings_q <= wdata_i[15:0];
          REG_EXITS: exits_q <= wdata_i[15:0];
          REG_MEMORY: memory_q <= wdata_i;
          REG_LENT: lent_q <= wdata_i[0];
          default: ;
        endcase
      end
    end
  end

  if (CONTEXTS != 0) begin : g_contexts
    logic [31:0] device_memory_q, context_switch_q, default_slice_q;
    assign device_memory  = device_memory_q;
    assign context_switch = context_switch_q;
    assign default_slice  = default_slice_q;
    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        device_memory_q  <= RESET_DEVICE_MEMORY;
        context_switch_q <= RESET_CONTEXT_SWITCH;
        default_slice_q  <= RESET_DEFAULT_SLICE;
      end else if (we_i) begin
        unique case (addr_i)
          REG_DEVICE_MEMORY: device_memory_q <= wdata_i;
          REG_CONTEXT_SWITCH: context_switch_q <= wdata_i;
          REG_DEFAULT_SLICE: default_slice_q <= wdata_i;
          default: ;
        endcase
      end
    end
  end else begin : g_no_contexts
    assign {device_memory, context_switch, default_slice} = '0;
  end

  if (METER) begin : g_meter
    logic [15:0] run_power_q, idle_power_q, low_power_q, off_power_q, low_wake_q, off_wake_q;
    logic [31:0] low_after_q, off_after_q;
    assign run_power_o  = run_power_q;
    assign idle_power_o = idle_power_q;
    assign low_power_o  = low_power_q;
    assign off_power_o  = off_power_q;
    assign low_after_o  = low_after_q;
    assign off_after_o  = off_after_q;
    assign low_wake_o   = low_wake_q;
    assign off_wake_o   = off_wake_q;
    assign metered_o    = addr_i >= REG_POWER_STATE && addr_i <= REG_BUSY_HIGH;
    assign repowered_o  = we_i && addr_i >= REG_RUN_POWER && addr_i <= REG_OFF_WAKE;
    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        run_power_q  <= RESET_RUN_POWER[15:0];
        idle_power_q <= RESET_IDLE_POWER[15:0];
        low_power_q  <= RESET_LOW_POWER[15:0];
        off_power_q  <= RESET_OFF_POWER[15:0];
        low_after_q  <= RESET_LOW_AFTER;
        off_after_q  <= RESET_OFF_AFTER;
        low_wake_q   <= RESET_LOW_WAKE[15:0];
        off_wake_q   <= RESET_OFF_WAKE[15:0];
      end else if (we_i) begin
        unique case (addr_i)
          REG_RUN_POWER: run_power_q <= wdata_i[15:0];
          REG_IDLE_POWER: idle_power_q <= wdata_i[15:0];
          REG_LOW_POWER: low_power_q <= wdata_i[15:0];
          REG_OFF_POWER: off_power_q <= wdata_i[15:0];
          REG_LOW_AFTER: low_after_q <= wdata_i;
          REG_OFF_AFTER: off_after_q <= wdata_i;
          REG_LOW_WAKE: low_wake_q <= wdata_i[15:0];
          REG_OFF_WAKE: off_wake_q <= wdata_i[15:0];
          default: ;
        endcase
      end
    end
  end else begin : g_no_meter
    assign {run_power_o, idle_power_o, low_power_o, off_power_o, low_after_o, off_after_o} = '0;
    assign {low_wake_o, off_wake_o, metered_o, repowered_o} = '0;
  end

`ifndef SYNTHESIS
  // Each counter of the map has its place, counts whatever happens and stays at its limit; the meter hears of each
  // write that concerns it.
  logic any_event, sets_meter;
  assign any_event = |counted_i || |rx_bad_i || |marked_i || |ttl_dropped_i || |purged_i || trips_i || mutes_i
      || |wraps_i || |overflowed_i || data_bad_i || |data_dropped_i || units_done_i || units_refused_i || crossed_i
      || |stalled_i;
  always @* begin
    unique case (addr_i)
      REG_RUN_POWER, REG_IDLE_POWER, REG_LOW_POWER, REG_OFF_POWER, REG_LOW_AFTER, REG_OFF_AFTER, REG_LOW_WAKE,
      REG_OFF_WAKE:
      sets_meter = METER && we_i;
      default: sets_meter = 1'b0;
    endcase
  end
  always @(posedge clk_i) begin
    if (!rst_i) begin
      assert (at(REG_STALLED) < 5'(COUNTERS))
      else $fatal(1, "a counter of the map has no place");
      assert (!any_event || event_seen)
      else $fatal(1, "an event isn't counted");
      for (int i = 0; i < COUNTERS; i++) begin
        assert (count_q[i] < 32'hFFFF_FFF0 + 32'd6)
        else $fatal(1, "a counter has passed its limit");
      end
      assert (repowered_o == sets_meter)
      else $fatal(1, "the meter isn't told of a setting");
    end
  end
`endif
endmodule
