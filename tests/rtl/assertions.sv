// Modules alone, driven at random as their neighbours in a node may drive them, to see what their assertions say.

module registers_bench;
  import ringhil_pkg::*;
  logic clk = 1'b0, rst = 1'b1;
  logic we;
  logic [7:0] addr;
  logic [31:0] wdata, rdata;
  logic [1:0] counted, rx_bad, marked, purged, wraps, overflowed;
  logic [5:0] ttl_dropped;
  logic [3:0] data_dropped;
  logic [2:0] stalled;
  logic trips, mutes, data_bad, units_done, units_refused, crossed;
  registers u_registers (
      .clk_i(clk), .rst_i(rst), .we_i(we), .addr_i(addr), .wdata_i(wdata), .rdata_o(rdata), .status_i(32'h0),
      .counted_i(counted), .rx_bad_i(rx_bad), .marked_i(marked), .ttl_dropped_i(ttl_dropped), .purged_i(purged),
      .trips_i(trips), .mutes_i(mutes), .wraps_i(wraps), .overflowed_i(overflowed), .data_bad_i(data_bad),
      .data_dropped_i(data_dropped), .units_done_i(units_done), .units_refused_i(units_refused), .crossed_i(crossed),
      .stalled_i(stalled), .memory_held_i(32'h0), .power_state_i(3'h0), .energy_i(64'h0), .busy_i(64'h0), .metered_o(),
      .repowered_o(), .turn_i(10'h0), .control_o(), .gpu_type_o(), .weight_o(), .watchdog_o(), .heartbeat_o(),
      .allowance_o(), .allowance_period_o(), .link_restore_o(), .compute_setup_o(), .compute_per_flit_o(),
      .gpu_restore_o(), .boundary_peer_o(), .crossings_o(), .exits_o(), .device_memory_o(), .context_switch_o(),
      .default_slice_o(), .run_power_o(), .idle_power_o(), .low_power_o(), .off_power_o(), .low_after_o(),
      .off_after_o(), .low_wake_o(), .off_wake_o(), .rx_bad_port1_o(), .rx_bad_port2_o()
  );
  // An event in one cycle of four, mostly one alone.
  always @(negedge clk) begin
    {we, addr, wdata} = {$random, $random};
    addr = addr & 8'h3F;
    {counted, rx_bad, marked, ttl_dropped, purged, trips, mutes, wraps, overflowed, data_bad, data_dropped, units_done,
     units_refused, crossed, stalled} = ($random & 32'h3) == 32'h0 ? 31'h1 << ($random & 32'h1F) : 31'h0;
  end
  initial begin
    repeat (4000) begin
      #1 clk = 1'b1;
      #1 clk = 1'b0;
      rst = $time < 8;
    end
    $finish;
  end
endmodule

module outbox_bench;
  logic clk = 1'b0, rst = 1'b1;
  logic frozen, babble, valid, sof, ready;
  logic [1:0] port;
  logic [3:0] offered, pop, pops;
  logic [63:0] data, now;
  outbox u_outbox (
      .clk_i(clk), .rst_i(rst), .frozen_i(frozen), .babble_i(babble), .lose_i(1'b0), .clear_i(4'h0), .card_id_i(8'h0),
      .node_id_i(16'h0), .ring_size_i(16'h8), .now_i(now), .allowance_i(32'd20), .period_i(32'd300), .m_valid_i(valid),
      .m_sof_i(sof), .m_eof_i(length == 6'd1), .m_port_i(port), .m_data_i(data), .m_ready_o(ready), .muted_o(),
      .mute_o(), .wake_at_o(), .valid_o(offered), .sof_o(), .eof_o(), .data_o(), .pop_i(pop), .busy_o()
  );
  // Firmware's frames of up to 40 flits, each flit held until it is taken; now and then the GPU stands still or babbles.
  logic [5:0] length = 6'd0;  // flits that are left
  assign pop = offered & pops;
  always @(negedge clk) begin
    if (rst) {frozen, babble, valid, now} = '0;
    else begin
      now = now + 64'h1;
      pops = ($random & 32'h80) == 32'h0 ? $random : 4'h0;
      if (($random & 32'h1F) == 32'h0) frozen = !frozen && ($random & 32'h3) == 32'h0;
      if (($random & 32'h3F) == 32'h0) babble = !babble && ($random & 32'h1) == 32'h0;
      if (length == 6'd0) begin
        length = 6'd1 + 6'($unsigned($random) % 40);
        sof = 1'b1;
        {port, data} = {$random, $random, $random};
      end
      valid = ($random & 32'h7) != 32'h0;
    end
  end
  always @(posedge clk) begin
    if (valid && ready) begin
      length <= length - 6'd1;
      sof    <= 1'b0;
    end
  end
  initial begin
    repeat (20000) begin
      #1 clk = 1'b1;
      #1 clk = 1'b0;
      rst = $time < 8;
    end
    $finish;
  end
endmodule

module slice_scheduler_bench;
  localparam int CONTEXTS = 4;
  logic clk = 1'b0, rst = 1'b1;
  logic [CONTEXTS-1:0] launched;
  logic [CONTEXTS-1:0][7:0] priorities;
  logic [31:0] left[CONTEXTS];
  logic [1:0] turn;
  logic slow, over, stop, waits, runs, starts, go, drop;
  logic [31:0] worked, plain_switch;
  logic [63:0] now, until_q;
  slice_scheduler #(
      .CONTEXTS(CONTEXTS)
  ) u_turns (
      .clk_i(clk), .rst_i(rst), .frozen_i(1'b0), .slow_i(slow), .now_i(now), .switch_i(32'd5), .default_slice_i(32'd40),
      .wake_i(16'd0), .launched_i(drop ? launched & ~(4'h1 << turn) : launched), .priority_i(priorities), .turn_o(turn),
      .slice_i(32'd0), .state_i(24'd2), .left_i(left[turn]), .begun_o(), .over_o(over), .ran_o(), .worked_o(worked),
      .stop_i(stop), .plain_waits_i(waits && !runs), .plain_busy_i(runs), .plain_starts_i(starts), .plain_go_o(go),
      .plain_switch_o(plain_switch), .begins_o(), .runs_o(), .waiting_o(), .wake_at_o(), .busy_o(), .shown_o()
  );
  // Contexts launch, and withdraw now and then; a unit of plain work comes now and then.
  assign starts = waits && !runs && go;
  assign stop   = drop && launched[turn];
  always @(negedge clk) begin
    if (rst) begin
      {launched, waits, slow, drop} = '0;
      now = 64'h0;
    end else begin
      now = now + 64'h1;
      slow = ($random & 32'h1) == 32'h0;
      drop = ($random & 32'h3F) == 32'h0;
      if (($random & 32'h1F) == 32'h0) waits = 1'b1;
    end
  end
  always @(posedge clk) begin
    if (rst) runs <= 1'b0;
    else begin
      if (over) left[turn] <= left[turn] - worked;
      if (stop || (over && left[turn] == worked)) launched[turn] <= 1'b0;
      for (int i = 1; i < CONTEXTS; i++) begin
        if (!launched[i] && ($random & 32'h1F) == 32'h0) begin
          launched[i]   <= 1'b1;
          left[i]       <= 32'd1 + ($random & 32'h7F);
          priorities[i] <= $random & 32'h1;
        end
      end
      if (starts) begin
        runs    <= 1'b1;
        waits   <= 1'b0;
        until_q <= now + 64'(plain_switch) + 64'($random & 32'h1F);
      end else if (runs && now >= until_q) runs <= 1'b0;
    end
  end
  initial begin
    priorities = '0;
    for (int i = 0; i < CONTEXTS; i++) left[i] = 32'h0;
    repeat (20000) begin
      #1 clk = 1'b1;
      #1 clk = 1'b0;
      rst = $time < 8;
    end
    $finish;
  end
endmodule
