// Compute engine: takes work units in segments, works for a time in proportion to their size, answers with a
// digest of the bytes that really arrived: CRC-32 and sum of 32-bit words, both over whole flits.
//
// work_parser reads the segments, work_streams puts them together, also when several units arrive at the same time by
// different ways (e_from_i: clockwise lane, counter-clockwise lane, CPU, another card). With its last segment a unit goes
// into the work_queue; it is refused (r_ack_o, with the reason) when the queue is full, when segments are missing, or
// when it asks for an unknown kind of computation. A damaged segment says nothing reliable, so it is only counted
// (bad_o); the CPU's timer deals with it. work_timer says when the oldest unit is done, work_outcome holds what is to be
// said of it (r_*) until r_take_i.
//
// frozen_i stops everything, arrivals are lost; flush_i empties it.
module compute_engine
  import ringhil_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        flush_i,
    input  logic        frozen_i,
    input  logic        corrupt_i,
    input  logic        slow_i,
    input  logic [63:0] now_i,
    input  logic [ 7:0] card_id_i,
    input  logic [31:0] setup_i,
    input  logic [31:0] per_flit_i,
    input  logic        e_valid_i,
    input  logic        e_sof_i,
    input  logic        e_eof_i,
    input  logic        e_bad_i,
    input  logic [63:0] e_data_i,
    input  logic [ 1:0] e_from_i,
    output logic        r_valid_o,
    output logic        r_ack_o,
    output logic [63:0] r_unit_o,     // epoch 32 | unit 32
    output logic [15:0] r_home_o,
    output logic [ 7:0] r_card_o,     // of r_home_o
    output logic [15:0] r_attempt_o,
    output logic [15:0] r_status_o,
    output logic [ 7:0] r_queued_o,
    output logic [63:0] r_digest_o,
    output logic [31:0] r_length_o,
    output logic [31:0] r_cycles_o,
    output logic [ 1:0] r_from_o,
    input  logic        r_take_i,
    output logic        bad_o,
    output logic        done_o,
    output logic        refused_o,
    output logic        waiting_o,    // wake_at_o counts
    output logic [63:0] wake_at_o,
    output logic        busy_o
);
  logic clear, moving;
  assign clear  = rst_i || flush_i;
  assign moving = !frozen_i && !flush_i;

  logic [63:0] unit, digest;
  logic [15:0] source, attempt, segment, bytes;
  logic [31:0] length;
  logic [7:0] kind, card;
  logic last, origin, payload, trailer, good, complete;
  work_parser u_parser (
      .clk_i,
      .rst_i(clear),
      .frozen_i,
      .valid_i(e_valid_i),
      .sof_i(e_sof_i),
      .eof_i(e_eof_i),
      .bad_i(e_bad_i),
      .data_i(e_data_i),
      .unit_o(unit),
      .source_o(source),
      .card_o(card),
      .attempt_o(attempt),
      .segment_o(segment),
      .bytes_o(bytes),
      .length_o(length),
      .kind_o(kind),
      .last_o(last),
      .origin_o(origin),
      .payload_o(payload),
      .trailer_o(trailer),
      .good_o(good)
  );

  work_streams u_streams (
      .clk_i,
      .rst_i(clear),
      .frozen_i,
      .card_id_i,
      .from_i(e_from_i),
      .data_i(e_data_i),
      .origin_i(origin),
      .payload_i(payload),
      .good_i(good),
      .unit_i(unit),
      .attempt_i(attempt),
      .segment_i(segment),
      .bytes_i(bytes),
      .length_i(length),
      .last_i(last),
      .complete_o(complete),
      .digest_o(digest)
  );

  // The last segment of a unit decides.
  logic enqueue, refuse, full, finish, held, timer_busy, outcome_busy;
  logic [15:0] reason;
  always @* begin
    reason = ACK_BUSY;
    if (!complete) reason = ACK_INCOMPLETE;
    else if (kind != 8'h0) reason = ACK_UNKNOWN_KIND;
  end
  assign enqueue = good && last && complete && kind == 8'h0 && !full;
  assign refuse  = good && last && !enqueue;

  logic [ 2:0] queued;
  logic [63:0] head_unit, head_digest;
  logic [15:0] head_source, head_attempt;
  logic [7:0] head_card;
  logic [31:0] head_length;
  logic [1:0] head_from;
  work_queue u_queue (
      .clk_i,
      .rst_i(clear),
      .frozen_i,
      .push_i(enqueue),
      .unit_i(unit),
      .source_i(source),
      .card_i(card),
      .attempt_i(attempt),
      .digest_i(digest),
      .length_i(length),
      .from_i(e_from_i),
      .pop_i(finish),
      .count_o(queued),
      .full_o(full),
      .unit_o(head_unit),
      .source_o(head_source),
      .card_o(head_card),
      .attempt_o(head_attempt),
      .digest_o(head_digest),
      .length_o(head_length),
      .from_o(head_from)
  );

  work_timer u_timer (
      .clk_i,
      .rst_i(clear),
      .frozen_i,
      .slow_i,
      .now_i,
      .setup_i,
      .per_flit_i,
      .ready_i(queued != 3'd0),
      .held_i(held),
      .length_i(head_length),
      .finish_o(finish),
      .cycles_o(r_cycles_o),
      .waiting_o,
      .wake_at_o,
      .busy_o(timer_busy)
  );

  work_outcome u_outcome (
      .clk_i,
      .rst_i(clear),
      .frozen_i,
      .finish_i(finish),
      .unit_i(head_unit),
      .home_i(head_source),
      .card_i(head_card),
      .attempt_i(head_attempt),
      .digest_i(head_digest ^ {63'h0, corrupt_i}),
      .length_i(head_length),
      .from_i(head_from),
      .refuse_i(refuse),
      .reason_i(reason),
      .refuse_unit_i(unit),
      .refuse_home_i(source),
      .refuse_card_i(card),
      .refuse_attempt_i(attempt),
      .refuse_from_i(e_from_i),
      .held_o(held),
      .busy_o(outcome_busy),
      .valid_o(r_valid_o),
      .ack_o(r_ack_o),
      .unit_o(r_unit_o),
      .home_o(r_home_o),
      .card_o(r_card_o),
      .attempt_o(r_attempt_o),
      .status_o(r_status_o),
      .digest_o(r_digest_o),
      .length_o(r_length_o),
      .from_o(r_from_o),
      .take_i(r_take_i)
  );

  assign r_queued_o = {5'h0, queued};
  assign bad_o      = trailer && !good && moving;
  assign done_o     = finish && moving;
  assign refused_o  = refuse && moving;
  assign busy_o     = timer_busy || outcome_busy;
endmodule
