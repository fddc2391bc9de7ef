// The data channel: five sources (0 from port 1, 1 from port 2, 2 CPU, 3 other card, 4 own answers), five sinks
// (0 out of port 2, 1 out of port 1, 2 CPU, 3 other card, 4 GPU), and 5: nowhere.
//
// A frame keeps its sink to its end. Source s, sink d: bit s of what belongs to d. Flits of source s at [64*s+:64].
module other_router
  import ringhil_pkg::*;
(
    input  logic         clk_i,
    input  logic         rst_i,
    input  logic [ 63:0] now_i,
    input  logic [  7:0] card_id_i,
    input  logic [ 15:0] my_id_i,
    input  logic [ 15:0] ring_size_i,
    input  logic [ 31:0] control_i,
    input  logic [ 31:0] crossings_i,
    input  logic [ 31:0] exits_i,
    input  logic         out_i,        // the GPU is bypassed
    input  logic [  4:0] drains_i,     // sinks whose link is dead: all that goes there is lost
    input  logic [  4:0] s_valid_i,
    input  logic [  4:0] s_sof_i,
    input  logic [  4:0] s_eof_i,
    input  logic [  4:0] s_bad_i,
    input  logic [319:0] s_data_i,
    input  logic [  1:0] answer_to_i,
    output logic [  4:0] s_pop_o,
    input  logic [  7:0] credits_i,    // two bits for each of the first four sinks
    input  logic [  4:0] d_ready_i,
    output logic [  4:0] d_valid_o,
    output logic [  4:0] d_sof_o,
    output logic [  4:0] d_eof_o,
    output logic [  4:0] d_bad_o,
    output logic [319:0] d_data_o,
    output logic [  1:0] gpu_from_o,
    output logic [  2:0] ttl_dropped_o,  // how many just now
    output logic [  2:0] dropped_o,
    output logic [  2:0] stalled_o,
    output logic         crossed_o,
    output logic         idle_o
);
  localparam logic [2:0] CW = 3'd0, CCW = 3'd1, HOST = 3'd2, OTHER = 3'd3, GPU = 3'd4, NOWHERE = 3'd5;
  localparam logic [63:0] PATIENCE = 64'd4000, HOLD = 64'd100;

  // ---- where to
  logic [4:0] begins, busy_q, ttl_drop, drop, stall, waits_q, nowhere;
  logic [24:0] wants;  // bit 5*d+s
  for (genvar s = 0; s < 5; s++) begin : g_source
    logic [63:0] flit;
    logic [2:0] sink, sink_q, way;
    logic mine, here, crosses, closed, used_up;
    logic [63:0] until_q;
    assign flit   = s_data_i[64*s+:64];
    assign mine   = flit[55:48] == card_id_i;
    assign here   = mine && flit[15:0] == my_id_i;
    assign closed = out_i || !control_i[CONTROL_BOUNDARY];
    assign crosses = !mine && flit[55:48] < 8'd32 && crossings_i[flit[52:48]] && !closed
        && !(s == 1 && control_i[CONTROL_FROM_ABOVE] && !flit[32+FLAG_WRAPPED]);
    assign begins[s] = s_valid_i[s] && s_sof_i[s] && !busy_q[s];
    if (s < 2) begin : g_ring
      assign used_up = flit[31:16] == 16'd0;
    end else begin : g_entering
      assign used_up = s == 2 && flit[31:16] == 16'd0;
    end
    always @* begin
      way = NOWHERE;
      if (s == 4) way = answer_to_i == 2'd2 ? HOST : answer_to_i == 2'd3 ? OTHER : {2'b00, answer_to_i[0]};
      else if (s == 2 && (out_i || !control_i[CONTROL_ENTRY])) way = NOWHERE;
      else if (s == 3 && (closed || flit[32+CROSSINGS+:4] == MAX_CROSSINGS)) way = NOWHERE;
      else if (here && flit[32+FLAG_TO_HOST] && s != 2) way = control_i[CONTROL_ENTRY] && !out_i ? HOST : NOWHERE;
      else if (here) way = out_i ? NOWHERE : GPU;
      else if (crosses) way = s == 3 ? NOWHERE : OTHER;
      else if (s == 0) way = CW;
      else if (s == 1) way = CCW;
      else if (s == 2 && mine) way = flit[32+FLAG_CCW] ? CCW : CW;
      else if (s == 2) way = flit[55:48] < 8'd32 && exits_i[flit[52:48]] ? CW : NOWHERE;
      else way = mine || control_i[CONTROL_FROM_ABOVE] ? CCW : CW;
    end
    assign ttl_drop[s] = begins[s] && used_up && way != NOWHERE && way[2:1] == 2'b00;
    assign drop[s] = begins[s] && way == NOWHERE;
    assign stall[s] = begins[s] && way == OTHER && waits_q[s] && now_i >= until_q;
    assign sink = busy_q[s] ? sink_q : ttl_drop[s] || stall[s] ? NOWHERE : way;
    assign nowhere[s] = s_valid_i[s] && sink == NOWHERE;
    for (genvar d = 0; d < 5; d++) begin : g_want
      assign wants[5*d+s] = s_valid_i[s] && sink == 3'(d);
    end
    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        busy_q[s]  <= 1'b0;
        waits_q[s] <= 1'b0;
      end else begin
        if (s_pop_o[s]) begin
          busy_q[s] <= !s_eof_i[s];
          sink_q <= sink;
        end
        waits_q[s] <= begins[s] && way == OTHER && !s_pop_o[s];
        if (begins[s] && !waits_q[s]) until_q <= now_i + PATIENCE;
      end
    end
  end

  // ---- who goes: a frame under way keeps its sink; otherwise in turn, as credits allow
  logic [24:0] taken;  // bit 5*d+s: a flit goes there
  logic [4:0] locked_q;
  for (genvar d = 0; d < 5; d++) begin : g_sink
    logic [4:0] want, may, owner_q, pick, pop;
    logic [2:0] last_q;
    logic [1:0] credits;
    logic hold, holding_q, transit, newcomer, moves;
    logic [63:0] until_q, raw, edited;
    assign want = wants[5*d+:5];
    if (d < 4) begin : g_credits
      assign credits = credits_i[2*d+:2];
    end else begin : g_free
      assign credits = 2'd3;
    end
    // New frames that wait for their second credit keep those on their way back, when it is their turn.
    assign transit  = d < 2 && want[d%2] && !locked_q[d];
    assign newcomer = d < 2 && |want[4:2] && !locked_q[d];
    assign hold = transit && newcomer && last_q == 3'(d % 2) && credits < 2'd2;
    always @* begin
      may = want;
      if (credits == 2'd0 && !drains_i[d]) may = 5'h0;
      if (d < 2 && credits < 2'd2) may[4:2] = 3'b000;
      if (d < 2 && hold && !(holding_q && now_i >= until_q)) may[d%2] = 1'b0;
    end
    always @* begin
      pick = 5'h0;
      // the first after the one served last
      for (int i = 5; i >= 1; i--) begin
        if (may[(int'(last_q)+i)%5]) pick = 5'h1 << ((int'(last_q) + i) % 5);
      end
      if (locked_q[d]) pick = owner_q & want;
    end
    assign moves = |pick && d_ready_i[d];
    assign pop = moves ? pick : 5'h0;
    assign taken[5*d+:5] = pop;
    assign d_valid_o[d] = |pick;
    assign d_sof_o[d] = |(pick & s_sof_i);
    assign d_eof_o[d] = |(pick & s_eof_i);
    assign d_bad_o[d] = |(pick & s_bad_i);
    assign raw = (s_data_i[63:0] & {64{pick[0]}}) | (s_data_i[127:64] & {64{pick[1]}})
        | (s_data_i[191:128] & {64{pick[2]}}) | (s_data_i[255:192] & {64{pick[3]}})
        | (s_data_i[319:256] & {64{pick[4]}});
    always @* begin
      edited = raw;
      if (d_sof_o[d] && d < 2 && |pick[2:0]) edited[31:16] = raw[31:16] - 16'd1;
      if (d_sof_o[d] && d < 2 && pick[3]) begin
        // It starts afresh in this ring.
        edited[31:16] = ring_size_i + 16'd1;
        edited[32+FLAG_WRAPPED] = 1'b0;
        edited[32+CROSSINGS+:4] = raw[32+CROSSINGS+:4] + 4'd1;
      end
    end
    assign d_data_o[64*d+:64] = edited;
    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        locked_q[d] <= 1'b0;
        last_q <= 3'd4;
        holding_q <= 1'b0;
      end else begin
        holding_q <= hold && !(moves && d_sof_o[d]);
        if (hold && !holding_q) until_q <= now_i + HOLD;
        if (moves) begin
          locked_q[d] <= !d_eof_o[d];
          owner_q <= pick;
          last_q <= pick[1] ? 3'd1 : pick[2] ? 3'd2 : pick[3] ? 3'd3 : pick[4] ? 3'd4 : 3'd0;
        end
      end
    end
  end
  assign s_pop_o = taken[4:0] | taken[9:5] | taken[14:10] | taken[19:15] | taken[24:20] | nowhere;
  assign gpu_from_o = taken[21] ? 2'd1 : taken[22] ? 2'd2 : taken[23] ? 2'd3 : 2'd0;

  function automatic logic [2:0] ones(input logic [4:0] bits);
    ones = 3'(bits[0]) + 3'(bits[1]) + 3'(bits[2]) + 3'(bits[3]) + 3'(bits[4]);
  endfunction
  assign ttl_dropped_o = ones(ttl_drop);
  assign dropped_o = ones(drop);
  assign stalled_o = ones(stall);
  assign crossed_o = |taken[19:15] && d_sof_o[3];
  assign idle_o = s_valid_i == 5'h0;
endmodule
