// Decides whether the GPU takes part in the ring (R6). It does not while
//   - it reports itself not working (healthy_i low),
//   - it is tripped: a watchdog of a lane (trip_i), or no answer to the liveness check,
//   - the guardian has muted it,
//   - it is lent to a virtual machine, or
//   - less than restore_i cycles have passed since the last of these: a GPU that flaps stays out.
//
// Liveness: every heartbeat_i cycles ping_o changes; a working GPU answers by pong_i of the same value, and
// one that has not within watchdog_i cycles is tripped. A tripped GPU is trusted again when it answers again.
module bypass_switch (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic [63:0] now_i,
    input  logic [31:0] heartbeat_i,
    input  logic [31:0] watchdog_i,
    input  logic [31:0] restore_i,
    input  logic        healthy_i,
    input  logic        muted_i,
    input  logic        lent_i,
    input  logic        trip_i,
    input  logic        pong_i,
    output logic        ping_o,
    output logic        bypass_o,
    output logic        tripped_o,
    output logic        healthy_o,
    output logic        restoring_o,
    output logic        trips_o,
    output logic        waiting_o,  // wake_at_o counts
    output logic [63:0] wake_at_o,
    output logic [ 5:0] level_o
);
  logic healthy_q, tripped_q, tripped_d, ping_q, ping_d, asked_q, asked_d;
  logic restoring_q, restoring_d, timing_q, timing_d;
  logic [63:0] at_q, at_d;  // next question, or the time by which the answer is due
  logic [63:0] restored_at_q, restored_at_d;
  logic restored_first_q;  // restored_at_q < at_q: compared a cycle before, because wake_at_o has a long way to go
  logic silent, beating, due, bad, answered;

  assign due      = now_i >= at_q;
  assign answered = pong_i == ping_q;
  assign beating  = healthy_q && !tripped_q && heartbeat_i != 32'h0;
  assign silent   = beating && asked_q && !answered && due;
  assign bad      = !healthy_q || tripped_q || muted_i || lent_i;

  assign trips_o     = (trip_i || silent) && !tripped_q;
  assign bypass_o    = bad || restoring_q;
  assign tripped_o   = tripped_q;
  assign healthy_o   = healthy_q;
  assign restoring_o = restoring_q;
  assign ping_o      = ping_q;
  assign waiting_o   = beating || timing_q;
  assign wake_at_o   = !beating || (timing_q && restored_first_q) ? restored_at_q : at_q;
  assign level_o     = {restoring_q, timing_q, healthy_q, tripped_q, ping_q, asked_q};

  // The time out of the ring.
  always @* begin
    restoring_d   = restoring_q;
    timing_d      = timing_q;
    restored_at_d = restored_at_q;
    if (bad) begin
      restoring_d = restore_i != 32'h0;
      timing_d    = 1'b0;
    end else if (restoring_q && !timing_q) begin
      timing_d      = 1'b1;
      restored_at_d = now_i + 64'(restore_i);
    end else if (timing_q && now_i >= restored_at_q) begin
      restoring_d = 1'b0;
      timing_d    = 1'b0;
    end
  end

  // Questions and answers.
  always @* begin
    tripped_d = tripped_q;
    ping_d    = ping_q;
    asked_d   = asked_q;
    at_d      = at_q;
    if (trips_o) begin
      tripped_d = 1'b1;
      ping_d    = !pong_i;
      asked_d   = 1'b0;
    end else if (tripped_q) begin
      if (answered) begin
        tripped_d = 1'b0;
        at_d      = now_i + 64'(heartbeat_i);
      end
    end else if (!healthy_q) begin
      asked_d = 1'b0;
      at_d    = 64'h0;
    end else if (heartbeat_i != 32'h0) begin
      if (asked_q && answered) begin
        asked_d = 1'b0;
        at_d    = now_i + 64'(heartbeat_i);
      end else if (!asked_q && due) begin
        asked_d = 1'b1;
        ping_d  = !ping_q;
        at_d    = now_i + 64'(watchdog_i);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      restoring_q      <= 1'b0;
      timing_q         <= 1'b0;
      restored_at_q    <= 64'h0;
      healthy_q        <= 1'b1;
      tripped_q        <= 1'b0;
      ping_q           <= 1'b0;
      asked_q          <= 1'b0;
      at_q             <= 64'h0;
      restored_first_q <= 1'b0;
    end else begin
      restoring_q      <= restoring_d;
      timing_q         <= timing_d;
      restored_at_q    <= restored_at_d;
      healthy_q        <= healthy_i;
      tripped_q        <= tripped_d;
      ping_q           <= ping_d;
      asked_q          <= asked_d;
      at_q             <= at_d;
      restored_first_q <= restored_at_d < at_d;
    end
  end
endmodule
