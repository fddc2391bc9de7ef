// The contexts of an engine beside its plain work, whatever commands and units come, and however they are set.
//
// Without COUNTED: while somebody waits, no context has the engine for more than its slice in a row, and nobody else has
// more than two turns. Only what has been launched has the engine. Cycles in which the GPU stands still don't count.
//
// With COUNTED the GPU doesn't stand still. Each cycle then is idle, or of a switch, of somebody's own, or lost: what a
// context is charged is what it had, cycle by cycle, and what a unit of plain work is told to take is what it took. None
// is lost but where a launch or a unit is of less than two cycles. So run times, switches and idle time are the time.
module turns
  import ringhil_pkg::*;
(
    input logic                  clk_i,
    input logic                  rst_i,
    input logic                  frozen_i,
    input logic                  slow_i,
    input logic [          63:0] now_i,
    input logic [          31:0] device_memory_i,
    input logic [          31:0] switch_i,
    input logic [          31:0] default_slice_i,
    input logic [          15:0] wake_i,
    input logic [          31:0] setup_i,
    input logic                  command_i,
    input logic [           7:0] compute_i,
    input logic [          15:0] context_i,
    input logic [          63:0] head0_i,
    input logic [          63:0] head1_i,
    input logic [REPLY_BITS-1:0] reply_i,
    input logic [          31:0] length_i,
    input logic [          63:0] digest_i,
    input logic                  take_i,
    input logic                  ready_i,
    input logic                  out_i,            // the last result of plain work is out
    input logic [           1:0] which_i,          // any context, 0 is plain work
    input logic [           1:0] other_i           // another one
);
  localparam int CONTEXTS = 3;
  logic [CONTEXTS-1:0] launched;
  logic [CONTEXTS-1:0][7:0] priorities;
  logic begun, over, stop, wants, starts, runs, go, finish, held_q;
  logic [1:0] turn;
  logic [23:0] state;
  logic [31:0] slice, left, ran, worked, plain_switch;
  context_table #(
      .CONTEXTS(CONTEXTS)
  ) dut (
      .refuse_o(), .reason_o(), .refuse_reply_o(), .launched_o(launched), .priority_o(priorities), .turn_i(turn),
      .turn_slice_o(slice), .turn_state_o(state), .turn_left_o(left), .begun_i(begun), .over_i(over), .ran_i(ran),
      .worked_i(worked), .stop_o(stop), .busy_o(), .valid_o(), .reply_o(), .status_o(), .digest_o(), .length_o(),
      .cycles_o(), .held_o(), .asks_o(), .energy_i(64'h0), .busy_cycles_i(64'h0), .*
  );
  slice_scheduler #(
      .CONTEXTS(CONTEXTS)
  ) scheduler (
      .launched_i(launched), .priority_i(priorities), .turn_o(turn), .slice_i(slice), .state_i(state), .left_i(left),
      .begun_o(begun), .over_o(over), .ran_o(ran), .worked_o(worked), .stop_i(stop), .plain_waits_i(wants),
      .plain_busy_i(runs), .plain_starts_i(starts), .plain_go_o(go), .plain_switch_o(plain_switch), .begins_o(),
      .runs_o(), .waiting_o(), .wake_at_o(), .busy_o(), .shown_o(), .*
  );
  // Its setup alone lets a unit take any time.
  work_timer plain (
      .per_flit_i(32'h0), .held_i(held_q), .go_i(go), .switch_i(plain_switch), .wants_o(wants), .starts_o(starts),
      .runs_o(runs), .finish_o(finish), .cycles_o(), .waiting_o(), .wake_at_o(), .busy_o(), .*
  );
  always_ff @(posedge clk_i) begin
    if (rst_i) held_q <= 1'b0;
    else if (!frozen_i) held_q <= finish || (held_q && !out_i);
  end

  logic started_q = 1'b0;
  logic [1:0] which_q, other_q;
  logic [63:0] before_q;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    before_q  <= now_i;
    if (!started_q) {which_q, other_q} <= {which_i, other_i};
  end
  always_comb begin
    assume (started_q || rst_i);
    if (started_q) assume (which_q < 2'(CONTEXTS) && other_q < 2'(CONTEXTS) && which_q != other_q);
    if (started_q) assume (now_i == before_q + 64'h1);
    assume (now_i < 64'h1 << 60);
`ifdef COUNTED
    assume (!frozen_i);
`endif
  end

  // A turn as it was begun: chosen in chosen_q, waking up until awake_q, switched to until from, over in ends if nobody
  // stops it.
  logic moving, running, first, choose;
  logic [31:0] longest, longest_q, long;
  logic [63:0] chosen_q, awake_q, from, ends;
  assign moving  = !frozen_i && !rst_i;
  assign running = scheduler.run_q;
  assign first   = scheduler.first_q;
  assign choose  = scheduler.choose && moving;
  assign from    = !first ? scheduler.start_q : !scheduler.switches_q ? awake_q : awake_q + 64'(switch_i) + 64'(state);
  assign long    = !first ? scheduler.long_q : scheduler.whole ? scheduler.need : scheduler.slice;
  assign ends   = from + 64'(long);
  always_comb begin
    longest = slice == 32'h0 ? default_slice_i : slice;
    longest = longest < 32'd16 ? 32'd16 : {longest[31:2], 2'b00};
    if (!first) longest = longest_q;
  end
  always_ff @(posedge clk_i) begin
    if (choose) chosen_q <= now_i;
    if (choose) awake_q <= now_i + 64'(wake_i);
    if (moving && first) longest_q <= longest;
  end

  // In the cycle that is just over the context has had the engine.
  logic had;
  assign had = running && now_i > from;

`ifndef COUNTED
  // So many cycles in a row, while which_q waits all the time.
  logic waits, over_q;
  logic [31:0] row, row_q;
  assign waits = which_q == 2'd0 ? wants : launched[which_q] && !(running && turn == which_q);
  assign row   = waits ? row_q + 32'(had && turn != which_q) : 32'h0;
  // So many turns of other_q, meanwhile.
  logic gets, passed;
  logic [1:0] passed_q;
  assign gets   = which_q == 2'd0 ? starts : choose && scheduler.next == which_q;
  assign passed = other_q == 2'd0 ? starts : choose && scheduler.next == other_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) row_q <= 32'h0;
    else if (moving) row_q <= starts || (choose && scheduler.next != turn) ? 32'h0 : row;
    if (rst_i) passed_q <= 2'd0;
    else if (moving) passed_q <= waits && !gets ? passed_q + 2'(passed) : 2'd0;
    if (rst_i) over_q <= 1'b0;
    else if (moving) over_q <= over;
  end
  always_comb begin
    if (started_q && !rst_i) begin
      if (moving && running) assert (row <= longest);
      assert (passed_q <= 2'd2);
      // Helpers.
      if ((running && first) || turn == which_q) assert (row_q == 32'h0);
      if (running && row_q != 32'h0)
        assert (from + 64'(row_q) < now_i && (from + 64'(row_q) < ends || row_q == 32'h1));
      if (!running && row_q != 32'h0)
        assert (over_q && !runs && row_q <= longest_q && (scheduler.ended_q || !dut.launched_q[turn]));
      if (passed_q == 2'd1) assert (scheduler.served_q[other_q] || !scheduler.served_q[which_q]);
      if (passed_q == 2'd2) assert (scheduler.served_q[other_q] && !scheduler.served_q[which_q]);
    end
  end
`endif

`ifdef COUNTED
  // The turn, or the unit of plain work that runs.
  logic busy, begins, switches_q;
  logic [31:0] cost;
  logic [63:0] plain_began_q, plain_from_q, began, mine, last;  // its own time is from mine to last
  assign busy   = running || runs;
  assign begins = choose || starts;
  assign cost   = plain.first_q ? plain.cost : plain.cycles_q;
  assign began  = running ? chosen_q : plain_began_q;
  assign mine   = running ? from : plain_from_q;
  assign last   = running ? ends : plain_from_q + 64'(cost);
  always_ff @(posedge clk_i) begin
    if (starts) begin
      plain_began_q <= now_i;
      plain_from_q  <= now_i + 64'(plain_switch) + 64'(wake_i);
    end
    if (begins) switches_q <= starts ? scheduler.last_q != '0 : scheduler.next != scheduler.last_q;
  end

  // Of the cycle that is just over: whose was it?
  logic switching, working, lost;
  assign switching = busy && now_i <= mine;
  assign working   = busy && now_i > mine && now_i <= last;
  assign lost      = busy && !switching && !working;

  // Cycles, one by one: its own, and those that are lost, since it began; what which_q has had since it was created.
  logic [63:0] own_q, own, had_q;
  logic [1:0] lost_q, lost_here;
  assign own       = own_q + 64'(working);
  assign lost_here = lost_q + 2'(lost);
  always_ff @(posedge clk_i) begin
    own_q  <= begins ? 64'h0 : own;
    lost_q <= begins ? 2'd0 : lost_here;
    if (rst_i || (dut.create && dut.at_q == which_q)) had_q <= 64'h0;
    else if (running && turn == which_q && working) had_q <= had_q + 64'h1;
  end

  logic [63:0] prev;
  assign prev = now_i - 64'h1;
  always_comb begin
    if (started_q && !rst_i) begin
      if (over) assert (64'(ran) == own);
      if (finish) assert (64'(cost) == own);
      if (busy) assert (lost_here <= 2'd2 && (lost_here == 2'd0 || last < began + 64'h2));
      if (dut.alive_q[which_q])
        assert (had_q == dut.run_q[which_q] + (running && turn == which_q ? own_q : 64'h0));
      // Helpers.
      if (busy) begin
        assert (own_q == (prev <= mine ? 64'h0 : (prev < last ? prev : last) - mine));
        assert (began < now_i && mine >= began && mine - began < 64'h1 << 33);
        assert (lost_q == 2'd0 || (last < began + 64'h2 && lost_q <= 2'd1 && now_i == began + 64'h2));
      end
      if (running && !first) assert (prev < last || now_i == began + 64'h2);
      if (runs) begin
        if (plain.first_q) assert (plain.finish_at_q == mine && now_i == began + 64'h1);
        else assert (plain.finish_at_q == last && prev < last);
      end
      if (first) assert (now_i == began + 64'h1);
    end
  end
`endif

  always_comb begin
    if (started_q && !rst_i) begin
      if (running) assert (dut.launched_q[turn] && !runs);
      // Helpers.
      if (dut.command_q && dut.listed_q) assert (dut.at_q < 2'(CONTEXTS));
      assert (turn < 2'(CONTEXTS) && !dut.launched_q[0] && dut.alive_q[0]);
      assert (!first || running);
      assert (!plain.first_q || runs);
      assert ((dut.launched_q & ~dut.alive_q) == '0);
      // What is shown: a turn or a unit, and its switch until the cycle in which somebody looks.
      assert (scheduler.shown_o == {scheduler.switching_q, running || runs, running ? 8'(turn) : 8'h0});
      assert (!scheduler.switching_q || running || runs);
      if (runs && scheduler.switching_q) begin
        assert (scheduler.start_q <= plain.finish_at_q && scheduler.start_q < 64'h1 << 61);
        if (plain.first_q) assert (plain.finish_at_q == scheduler.start_q);
      end
      if (running && !first) assert (scheduler.start_q <= scheduler.end_q);
      if (running && scheduler.switching_q) assert (scheduler.switches_q);
`ifdef COUNTED
      if (first) assert (scheduler.switching_q == scheduler.switches_q);
      if (runs && scheduler.switching_q) assert (scheduler.start_q == plain_from_q);
      if (busy && scheduler.switching_q) assert (now_i <= mine || now_i == began + 64'h1);
      if (running) assert (switches_q == scheduler.switches_q);
      // Who wakes up without a switch is not shown to switch.
      if (busy && !switches_q) assert (!scheduler.switching_q);
      if (busy && switches_q && !scheduler.switching_q) assert (now_i > mine);
`endif
      if (running || scheduler.ended_q) assert (scheduler.served_q[turn] && turn == scheduler.last_q);
      if (runs) assert (!held_q);
      if (running) begin
        assert (turn != 2'd0 && chosen_q < now_i && !scheduler.ended_q);
        assert (awake_q >= chosen_q && awake_q - chosen_q < 64'h1 << 16);
        if (first) assert (scheduler.start_q == awake_q);
        else assert (scheduler.end_q == ends && long <= longest_q && longest_q >= 32'd16);
        if (!first) assert (scheduler.work_q <= left && from - chosen_q < 64'h1 << 33 && chosen_q + 64'h1 < now_i);
      end
    end
  end
endmodule
