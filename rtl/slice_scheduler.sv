// Who has the compute engine: the contexts that have launched something take turns with the plain work units.
//
// In a round everybody who waits has one turn, the highest priority first, the lowest number among equals. A context's
// turn is a time slice at most; a unit of plain work is never interrupted, and counts as one turn of context 0. A turn
// that isn't the same context's as the last one begins with a switch: switch_i cycles and what its state costs. Before
// that a turn waits for wake_i cycles, as it is when it begins (begins_o): an engine that slept has to wake up. While
// slow_i, as it is when the turn begins, a launch comes forward by a quarter of the cycles that it has.
//
// shown_o says who has the engine, from the cycle after the turn was chosen until its last one; switching from there on
// until the switch is over, which is shown for one cycle at least. It follows from registers alone.
//
// While frozen_i nothing moves, but time passes. With no launch anywhere the plain work has the engine as if there were
// no contexts.
module slice_scheduler
  import ringhil_pkg::*;
#(
    parameter int CONTEXTS = MAX_CONTEXTS
) (
    input  logic                            clk_i,
    input  logic                            rst_i,
    input  logic                            frozen_i,
    input  logic                            slow_i,
    input  logic [                    63:0] now_i,
    input  logic [                    31:0] switch_i,
    input  logic [                    31:0] default_slice_i,
    input  logic [                    15:0] wake_i,
    input  logic [CONTEXTS-1:0]             launched_i,
    input  logic [CONTEXTS-1:0][       7:0] priority_i,
    // The context whose turn it is: see context_table.
    output logic [    $clog2(CONTEXTS)-1:0] turn_o,
    input  logic [                    31:0] slice_i,
    input  logic [                    23:0] state_i,
    input  logic [                    31:0] left_i,
    output logic                            begun_o,
    output logic                            over_o,
    output logic [                    31:0] ran_o,
    output logic [                    31:0] worked_o,
    input  logic                            stop_i,
    // Plain work.
    input  logic                            plain_waits_i,
    input  logic                            plain_busy_i,
    input  logic                            plain_starts_i,
    output logic                            plain_go_o,
    output logic [                    31:0] plain_switch_o,  // cycles that a unit which starts now takes longer
    output logic                            begins_o,
    output logic                            runs_o,
    output logic                            waiting_o,       // wake_at_o counts
    output logic [                    63:0] wake_at_o,
    output logic                            busy_o,
    output logic [                     9:0] shown_o          // as the register `turn` has it
);
  localparam int WIDTH = $clog2(CONTEXTS);

  // A turn: first_q in its first cycle, in which the context's settings are looked at; then until end_q.
  logic run_q, first_q, slow_q, switches_q, switching_q, ended_q, stopped;
  logic [WIDTH-1:0] turn_q, last_q;
  logic [63:0] start_q, end_q;
  logic [31:0] long_q, work_q;
  logic [CONTEXTS-1:0] served_q;
  assign turn_o = turn_q;
  assign runs_o = run_q;

  logic finish;
  assign finish  = run_q && !first_q && now_i >= end_q;
  assign stopped = run_q && stop_i;

  // ------------------------------------------------------------------------------------------------ whose turn is next
  logic any, open, choose, fresh;
  logic [CONTEXTS-1:0] waits, candidates, ended;
  logic [WIDTH-1:0] next;
  // Who has just finished its launch waits no more.
  assign any = (launched_i & ~CONTEXTS'(1)) != '0;
  always @* begin
    waits    = launched_i;
    waits[0] = plain_waits_i;
    if (run_q && ((finish && work_q == left_i) || stopped)) waits[turn_q] = 1'b0;
  end
  // A round doesn't begin with whom the last one has ended with: that would be more than a slice.
  assign ended = finish || ended_q ? CONTEXTS'(1) << turn_q : '0;
  assign fresh = (waits & ~served_q) == '0;
  always @* begin
    candidates = waits & ~served_q;
    if (fresh) candidates = (waits & ~ended) == '0 ? waits : waits & ~ended;
  end
  // The highest priority is next, of equals the lowest number. Node n has the better one of 2n and 2n + 1; the contexts
  // are from LEAVES on.
  localparam int LEAVES = 1 << WIDTH;
  logic             there[2*LEAVES];
  logic [      7:0] high [2*LEAVES];
  logic [WIDTH-1:0] who  [2*LEAVES];
  always @* begin
    next = '0;
    for (int n = 0; n < 2 * LEAVES; n++) begin
      there[n] = 1'b0;
      high[n]  = 8'h0;
      who[n]   = '0;
    end
    if (any) begin
      for (int i = 0; i < CONTEXTS; i++) begin
        there[LEAVES+i] = candidates[i];
        high[LEAVES+i]  = priority_i[i];
        who[LEAVES+i]   = WIDTH'(i);
      end
      for (int n = LEAVES - 1; n > 0; n--) begin
        there[n] = there[2*n] || there[2*n+1];
        high[n]  = high[2*n];
        who[n]   = who[2*n];
        if (there[2*n+1] && (!there[2*n] || high[2*n+1] > high[2*n])) begin
          high[n] = high[2*n+1];
          who[n]  = who[2*n+1];
        end
      end
      next = who[1];
    end
  end

  assign open           = !run_q || finish || stopped;
  assign choose         = any && open && !plain_busy_i && candidates != '0 && next != '0;
  assign begins_o       = choose;
  assign plain_go_o     = !run_q && (!any || next == '0);
  assign plain_switch_o = last_q == '0 ? 32'h0 : switch_i;

  // ----------------------------------------------------------------------------------------------------- how long it is
  logic [31:0] slice, need;
  logic [63:0] work_from;  // the switch is over
  logic whole;
  localparam logic [31:0] SHORTEST = 32'd16;
  always @* begin
    slice     = 32'h0;
    need      = 32'h0;
    whole     = 1'b0;
    work_from = start_q;
    if (first_q) begin
      slice = slice_i == 32'h0 ? default_slice_i : slice_i;
      if (slice < SHORTEST) slice = SHORTEST;
      slice[1:0] = 2'b00;
      need  = slow_q ? left_i << 2 : left_i;
      whole = need <= slice && !(slow_q && left_i[31:30] != 2'b00);
      if (switches_q) work_from = start_q + 64'(switch_i) + 64'(state_i);
    end
  end

  assign begun_o   = first_q && switches_q && !frozen_i;
  assign over_o    = (finish || stopped) && !frozen_i;
  // The end of a switch is shown in its cycle; start_q is that of a unit of plain work, too.
  assign waiting_o = ((run_q && !first_q) || (plain_busy_i && switching_q)) && !frozen_i;
  assign wake_at_o = switching_q ? start_q : end_q;
  always @* begin
    shown_o                 = '0;
    shown_o[WIDTH-1:0]      = run_q ? turn_q : '0;
    shown_o[TURN_TAKEN]     = run_q || plain_busy_i;
    shown_o[TURN_SWITCHING] = switching_q;
  end
  assign busy_o    = (choose || first_q || ended_q) && !frozen_i;
  always @* begin
    ran_o    = long_q;
    worked_o = work_q;
    if (stopped && !finish) begin
      ran_o = now_i <= work_from ? 32'h0 : 32'(now_i - work_from);
      if (first_q && ran_o > (whole ? need : slice)) ran_o = whole ? need : slice;  // it has hung since
      worked_o = slow_q ? ran_o >> 2 : ran_o;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      run_q    <= 1'b0;
      first_q  <= 1'b0;
      ended_q  <= 1'b0;
      turn_q   <= '0;
      last_q   <= '0;
      served_q <= '0;
      switching_q <= 1'b0;
    end else if (!frozen_i) begin
      first_q <= choose;
      if (now_i >= work_from || finish || stopped) switching_q <= 1'b0;
      ended_q <= finish && !choose;  // a unit of plain work is next
      if (choose) begin
        run_q      <= 1'b1;
        turn_q     <= next;
        last_q     <= next;
        switches_q <= next != last_q;
        switching_q <= next != last_q;
        slow_q     <= slow_i;
        start_q    <= now_i + 64'(wake_i);
        served_q   <= (fresh ? CONTEXTS'(0) : served_q) | (CONTEXTS'(1) << next);
      end else if (finish || stopped) run_q <= 1'b0;
      if (first_q && !stopped) begin
        start_q <= work_from;
        end_q   <= work_from + 64'(whole ? need : slice);
        long_q  <= whole ? need : slice;
        work_q  <= whole ? left_i : slow_q ? slice >> 2 : slice;
      end
      if (plain_starts_i) begin
        last_q      <= '0;
        start_q     <= now_i + 64'(plain_switch_o) + 64'(wake_i);
        switching_q <= last_q != '0;
        served_q    <= (fresh ? CONTEXTS'(0) : served_q) | CONTEXTS'(1);
      end
    end
  end

`ifndef SYNTHESIS
  // One has the engine, whose turn it is; who gets the next turn waits for it; nobody works on more than is left.
  always @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!run_q || !plain_busy_i)
      else $fatal(1, "a launch and a unit have the engine at once");
      assert (!choose || (waits[next] && next != '0))
      else $fatal(1, "the turn goes to somebody who doesn't wait");
      assert (!plain_starts_i || (plain_go_o && plain_waits_i))
      else $fatal(1, "a unit starts out of turn");
      assert (!run_q || (turn_q == last_q && served_q[turn_q]))
      else $fatal(1, "a turn isn't counted in its round");
      assert (!switching_q || run_q || plain_busy_i)
      else $fatal(1, "a switch to nobody");
      assert (!run_q || first_q || work_q <= left_i)
      else $fatal(1, "a launch comes forward by more than is left");
    end
  end
`endif
endmodule
