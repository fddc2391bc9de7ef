// How long the compute engine works on a unit: setup_i + flits * per_flit_i cycles, four times that while slow_i, all as
// they are in the cycle in which it begins, in 32 bits.
//
// A unit begins when one is there (ready_i), the last result is out (held_i low) and the engine is free for it (go_i);
// that is switch_i and wake_i cycles before the work on it begins, which don't count as its own. finish_o is high once
// when its time is up; from then on cycles_o is what it took. The product takes two cycles: the time is added up in the
// first cycle of the work, in which busy_o is high and a unit that costs nothing may already be finished.
// While frozen_i nothing moves, but time passes.
module work_timer (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        frozen_i,
    input  logic        slow_i,
    input  logic [63:0] now_i,
    input  logic [31:0] setup_i,
    input  logic [31:0] per_flit_i,
    input  logic        ready_i,
    input  logic        held_i,
    input  logic        go_i,
    input  logic [31:0] switch_i,
    input  logic [15:0] wake_i,
    input  logic [31:0] length_i,   // bytes
    output logic        wants_o,    // a unit would begin
    output logic        starts_o,
    output logic        runs_o,
    output logic        finish_o,
    output logic [31:0] cycles_o,
    output logic        waiting_o,  // wake_at_o counts
    output logic [63:0] wake_at_o,
    output logic        busy_o
);
  logic run_q, first_q, start;
  logic [63:0] finish_at_q, finish_at;  // in the first cycle finish_at_q is still when the work began
  logic slow_q;
  logic [31:0] setup_q, low_q, cycles_q, base, cost;
  logic [15:0] high_q;
  logic [28:0] flits;

  // Of the product the lower 32 bits: low * low, and the sum of low * high in the upper half.
  assign flits     = 29'((length_i + 32'd7) >> 3);
  assign base      = setup_q + low_q + {high_q, 16'h0};
  assign cost      = slow_q ? base << 2 : base;
  assign finish_at = first_q ? finish_at_q + 64'(cost) : finish_at_q;

  assign wants_o   = ready_i && !run_q && !held_i;
  assign start     = wants_o && go_i;
  assign starts_o  = start && !frozen_i;
  assign runs_o    = run_q;
  assign finish_o  = run_q && now_i >= finish_at && !held_i;
  assign waiting_o = run_q && !held_i && !frozen_i;
  assign cycles_o  = cycles_q;
  assign wake_at_o = finish_at_q;
  assign busy_o    = (start || first_q) && !frozen_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      run_q   <= 1'b0;
      first_q <= 1'b0;
    end else if (!frozen_i) begin
      first_q <= start;
      if (start) begin
        run_q       <= 1'b1;
        finish_at_q <= now_i + 64'(switch_i) + 64'(wake_i);
        slow_q      <= slow_i;
        setup_q     <= setup_i;
        low_q       <= 32'(flits[15:0]) * 32'(per_flit_i[15:0]);
        high_q      <= flits[15:0] * per_flit_i[31:16] + 16'(flits[28:16]) * per_flit_i[15:0];
      end else if (finish_o) run_q <= 1'b0;
      if (first_q) begin
        finish_at_q <= finish_at;
        cycles_q    <= cost;
      end
    end
  end
endmodule
