// What the compute engine has taken of energy and how long it has run, and which power state it is in.
//
// It runs while works_i; else it rests: idle first, after low_after_i cycles of rest in low power, after off_after_i of
// them off, but only while nobody holds memory (held_i); 0: never. Each cycle takes its state's units of energy (*_power_i).
// Work that begins takes wake_o cycles longer.
//
// No counter runs. What is settled (energy_q, busy_q) changes when works_i or held_i has changed, in the cycle after
// that (busy_o is high in it), and when settings are written (write_i), so that they count from the next cycle on. The
// cycles since then are added while somebody looks (look_i): energy_o and busy_cycles_o are what all cycles before this
// one have taken; else they are 0.
module energy_meter
  import ringhil_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic [63:0] now_i,
    input  logic        works_i,
    input  logic        held_i,
    input  logic        write_i,
    input  logic        look_i,
    input  logic        begins_i,       // work begins: wake_o counts
    input  logic [15:0] run_power_i,
    input  logic [15:0] idle_power_i,
    input  logic [15:0] low_power_i,
    input  logic [15:0] off_power_i,
    input  logic [31:0] low_after_i,
    input  logic [31:0] off_after_i,
    input  logic [15:0] low_wake_i,
    input  logic [15:0] off_wake_i,
    output logic        busy_o,
    output logic [ 2:0] state_o,        // POWER_*, while look_i
    output logic [15:0] wake_o,
    output logic [63:0] energy_o,
    output logic [63:0] busy_cycles_o
);
  logic works_q, held_q;
  // Settled are the cycles before since_q; it rests since rest_q.
  logic [63:0] since_q, rest_q, energy_q, busy_q;

  // Of the first `cycles` of a rest those in which it isn't off, or idle.
  function automatic logic [63:0] at_most(input logic [63:0] cycles, input logic [31:0] most);
    at_most = most == 32'h0 || cycles < 64'(most) ? cycles : 64'(most);
  endfunction

  // Energy of the cycles of a rest, from the first to before the last.
  function automatic logic [63:0] rested(
      input logic [63:0] first, input logic [63:0] last, input logic [31:0] low_after, input logic [31:0] off_after,
      input logic [15:0] idle_power, input logic [15:0] low_power, input logic [15:0] off_power
  );
    logic [63:0] lit_first, lit_last, lit, idle;
    lit_first = at_most(first, off_after);
    lit_last  = at_most(last, off_after);
    lit       = lit_last - lit_first;
    idle      = at_most(lit_last, low_after) - at_most(lit_first, low_after);
    rested    = idle * 64'(idle_power) + (lit - idle) * 64'(low_power) + (last - first - lit) * 64'(off_power);
  endfunction

  // Energy of the cycles from since_q on, before this one.
  logic settle, needed;
  logic [63:0] taken, ran;
  assign busy_o = works_i != works_q || held_i != held_q;
  assign settle = busy_o || write_i;
  assign needed = look_i || settle;
  always @* begin
    taken = 64'h0;
    ran   = 64'h0;
    if (needed) begin
      if (works_q) begin
        ran   = now_i - since_q;
        taken = ran * 64'(run_power_i);
      end else
        taken = rested(
            since_q - rest_q, now_i - rest_q, low_after_i, held_q ? 32'h0 : off_after_i, idle_power_i, low_power_i,
            off_power_i
        );
    end
  end
  assign energy_o      = look_i ? energy_q + taken : 64'h0;
  assign busy_cycles_o = look_i ? busy_q + ran : 64'h0;

  // The state in this cycle, and its energy.
  logic [63:0] rest;
  logic [15:0] rate;
  always @* begin
    state_o = POWER_IDLE;
    rate    = idle_power_i;
    wake_o  = 16'h0;
    rest    = 64'h0;
    if (needed || begins_i) begin
      if (!works_q) rest = now_i - rest_q;
      if (works_i) begin
        state_o = POWER_RUNNING;
        rate    = run_power_i;
      end else if (!held_i && off_after_i != 32'h0 && rest >= 64'(off_after_i)) begin
        state_o = POWER_OFF;
        rate    = off_power_i;
        wake_o  = off_wake_i;
      end else if (low_after_i != 32'h0 && rest >= 64'(low_after_i)) begin
        state_o = POWER_LOW;
        rate    = low_power_i;
        wake_o  = low_wake_i;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      works_q  <= 1'b0;
      held_q   <= 1'b0;
      since_q  <= now_i;
      rest_q   <= now_i;
      energy_q <= 64'h0;
      busy_q   <= 64'h0;
    end else if (settle) begin
      works_q  <= works_i;
      held_q   <= held_i;
      since_q  <= now_i + 64'(write_i);
      if (works_q) rest_q <= now_i;
      energy_q <= energy_q + taken + (write_i ? 64'(rate) : 64'h0);
      busy_q   <= busy_q + ran + 64'(write_i && works_i);
    end
  end
endmodule
