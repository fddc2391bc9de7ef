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
// A unit may also be a command to one of the engine's contexts: context_table carries it out, and says what is to be
// answered. What contexts have launched takes turns with the plain units: slice_scheduler.
//
// What all that takes of energy, and how long work that begins has to wait for an engine that slept: energy_meter.
//
// frozen_i stops everything but the meter, arrivals are lost; flush_i empties it, and the meter keeps what it has.
module compute_engine
  import ringhil_pkg::*;
#(
    parameter int CONTEXTS = MAX_CONTEXTS,  // 0: every command is of an unknown kind
    parameter bit METER = 1'b1
) (
    input  logic                  clk_i,
    input  logic                  rst_i,
    input  logic                  flush_i,
    input  logic                  frozen_i,
    input  logic                  corrupt_i,
    input  logic                  slow_i,
    input  logic [          63:0] now_i,
    input  logic [           7:0] card_id_i,
    input  logic [          31:0] setup_i,
    input  logic [          31:0] per_flit_i,
    input  logic [          31:0] device_memory_i,
    input  logic [          31:0] context_switch_i,
    input  logic [          31:0] default_slice_i,
    input  logic [          15:0] run_power_i,
    input  logic [          15:0] idle_power_i,
    input  logic [          15:0] low_power_i,
    input  logic [          15:0] off_power_i,
    input  logic [          31:0] low_after_i,
    input  logic [          31:0] off_after_i,
    input  logic [          15:0] low_wake_i,
    input  logic [          15:0] off_wake_i,
    input  logic                  metered_i,    // energy_o, busy_cycles_o and power_state_o are looked at
    input  logic                  repowered_i,  // what the meter goes by is written
    input  logic                  e_valid_i,
    input  logic                  e_sof_i,
    input  logic                  e_eof_i,
    input  logic                  e_bad_i,
    input  logic [          63:0] e_data_i,
    input  logic [           1:0] e_from_i,
    output logic                  r_valid_o,
    output logic                  r_ack_o,
    output logic [REPLY_BITS-1:0] r_reply_o,
    output logic [          15:0] r_status_o,
    output logic [           7:0] r_queued_o,
    output logic [          63:0] r_digest_o,
    output logic [          31:0] r_length_o,
    output logic [          31:0] r_cycles_o,
    input  logic                  r_take_i,
    output logic                  bad_o,
    output logic                  done_o,
    output logic                  refused_o,
    output logic [          31:0] held_o,       // pages that contexts hold
    output logic [           2:0] power_state_o,
    output logic [          63:0] energy_o,
    output logic [          63:0] busy_cycles_o,
    output logic [           9:0] turn_o,       // who has the engine, as the register `turn` has it
    output logic                  waiting_o,    // wake_at_o counts
    output logic [          63:0] wake_at_o,
    output logic                  busy_o
);
  logic clear, moving;
  assign clear  = rst_i || flush_i;
  assign moving = !frozen_i && !flush_i;

  logic [63:0] unit, digest;
  logic [15:0] source, attempt, segment, bytes, context_number;
  logic [127:0] head;
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
      .context_o(context_number),
      .last_o(last),
      .origin_o(origin),
      .payload_o(payload),
      .trailer_o(trailer),
      .good_o(good)
  );

  // Whom the unit is answered to.
  logic [REPLY_BITS-1:0] reply;
  assign reply[REPLY_UNIT+:REPLY_UNIT_BITS]       = unit;
  assign reply[REPLY_HOME+:REPLY_HOME_BITS]       = source;
  assign reply[REPLY_ATTEMPT+:REPLY_ATTEMPT_BITS] = attempt;
  assign reply[REPLY_CARD+:REPLY_CARD_BITS]       = card;
  assign reply[REPLY_FROM+:REPLY_FROM_BITS]       = e_from_i;

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
      .head_o(head),
      .digest_o(digest)
  );

  // The last segment of a unit decides.
  logic enqueue, command, is_command, refuse, full, finish, held, timer_busy, outcome_busy;
  logic [15:0] reason;
  assign is_command = CONTEXTS != 0 && kind >= COMPUTE_CREATE && kind <= COMPUTE_QUERY;
  always @* begin
    reason = ACK_BUSY;
    if (!complete || (is_command && length < 32'(COMMAND_BYTES))) reason = ACK_INCOMPLETE;
    else if (kind != COMPUTE_DIGEST) reason = ACK_UNKNOWN_KIND;
  end
  assign enqueue = good && last && complete && kind == COMPUTE_DIGEST && !full;
  assign command = good && last && complete && is_command && length >= 32'(COMMAND_BYTES);
  assign refuse  = good && last && !enqueue && !command;

  logic [ 2:0] queued;
  logic [REPLY_BITS-1:0] head_reply;
  logic [63:0] head_digest;
  logic [31:0] head_length;
  work_queue u_queue (
      .clk_i,
      .rst_i(clear),
      .frozen_i,
      .push_i(enqueue),
      .reply_i(reply),
      .digest_i(digest),
      .length_i(length),
      .pop_i(finish),
      .count_o(queued),
      .full_o(full),
      .reply_o(head_reply),
      .digest_o(head_digest),
      .length_o(head_length)
  );

  logic wants, starts, runs, go, timer_waiting;
  logic [15:0] wake;
  logic [31:0] plain_switch;
  logic [63:0] timer_wake;
  logic [31:0] o_cycles;
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
      .go_i(go),
      .switch_i(plain_switch),
      .wake_i(wake),
      .length_i(head_length),
      .wants_o(wants),
      .starts_o(starts),
      .runs_o(runs),
      .finish_o(finish),
      .cycles_o(o_cycles),
      .waiting_o(timer_waiting),
      .wake_at_o(timer_wake),
      .busy_o(timer_busy)
  );

  // ---------------------------------------------------------------------------------------------------- contexts
  logic no_context, table_busy, turns_busy, turn_waiting, turn_begins, turn_runs, asks;
  logic [15:0] no_reason;
  logic [63:0] turn_wake;
  logic a_valid, a_take;
  logic [REPLY_BITS-1:0] no_reply, a_reply;
  logic [63:0] a_digest;
  logic [15:0] a_status;
  logic [31:0] a_length, a_cycles;
  if (CONTEXTS != 0) begin : g_contexts
    logic [CONTEXTS-1:0] launched;
    logic [CONTEXTS-1:0][7:0] priorities;
    logic begun, over, stop;
    logic [$clog2(CONTEXTS)-1:0] turn;
    logic [23:0] turn_state;
    logic [31:0] turn_slice, turn_left, ran, worked;
    context_table #(
        .CONTEXTS(CONTEXTS),
        .METER(METER)
    ) u_contexts (
        .clk_i,
        .rst_i(clear),
        .frozen_i,
        .device_memory_i,
        .command_i(command),
        .compute_i(kind),
        .context_i(context_number),
        .head0_i(head[127:64]),
        .head1_i(head[63:0]),
        .reply_i(reply),
        .length_i(length),
        .digest_i(digest),
        .asks_o(asks),
        .energy_i(energy_o),
        .busy_cycles_i(busy_cycles_o),
        .refuse_o(no_context),
        .reason_o(no_reason),
        .refuse_reply_o(no_reply),
        .launched_o(launched),
        .priority_o(priorities),
        .turn_i(turn),
        .turn_slice_o(turn_slice),
        .turn_state_o(turn_state),
        .turn_left_o(turn_left),
        .begun_i(begun),
        .over_i(over),
        .ran_i(ran),
        .worked_i(worked),
        .stop_o(stop),
        .busy_o(table_busy),
        .valid_o(a_valid),
        .reply_o(a_reply),
        .status_o(a_status),
        .digest_o(a_digest),
        .length_o(a_length),
        .cycles_o(a_cycles),
        .take_i(a_take),
        .held_o
    );

    slice_scheduler #(
        .CONTEXTS(CONTEXTS)
    ) u_turns (
        .clk_i,
        .rst_i(clear),
        .frozen_i,
        .slow_i,
        .now_i,
        .switch_i(context_switch_i),
        .default_slice_i,
        .wake_i(wake),
        .launched_i(launched),
        .priority_i(priorities),
        .turn_o(turn),
        .slice_i(turn_slice),
        .state_i(turn_state),
        .left_i(turn_left),
        .begun_o(begun),
        .over_o(over),
        .ran_o(ran),
        .worked_o(worked),
        .stop_i(stop),
        .plain_waits_i(wants),
        .plain_busy_i(runs),
        .plain_starts_i(starts),
        .plain_go_o(go),
        .plain_switch_o(plain_switch),
        .begins_o(turn_begins),
        .runs_o(turn_runs),
        .waiting_o(turn_waiting),
        .wake_at_o(turn_wake),
        .busy_o(turns_busy),
        .shown_o(turn_o)
    );
  end else begin : g_no_contexts
    logic unused_ok;
    assign unused_ok = &{
      device_memory_i, context_switch_i, default_slice_i, context_number, head, command, wants, starts, runs, a_take
    };
    assign {no_context, no_reason, no_reply, a_valid, a_reply, a_digest, a_status, a_length, a_cycles} = '0;
    assign {turn_begins, turn_runs, asks} = '0;
    assign {turn_waiting, turn_wake, table_busy, turns_busy, plain_switch, held_o, turn_o} = '0;
    assign go = 1'b1;
  end

  // ------------------------------------------------------------------------------------------------------- power
  logic meter_busy;
  if (METER) begin : g_meter
    energy_meter u_meter (
        .clk_i,
        .rst_i,
        .now_i,
        .works_i(runs || turn_runs),
        .held_i(held_o != 32'h0),
        .write_i(repowered_i),
        .look_i(metered_i || asks),
        .begins_i(starts || turn_begins),
        .run_power_i,
        .idle_power_i,
        .low_power_i,
        .off_power_i,
        .low_after_i,
        .off_after_i,
        .low_wake_i,
        .off_wake_i,
        .busy_o(meter_busy),
        .state_o(power_state_o),
        .wake_o(wake),
        .energy_o,
        .busy_cycles_o
    );
  end else begin : g_no_meter
    logic unused_meter;
    assign unused_meter = &{
      run_power_i, idle_power_i, low_power_i, off_power_i, low_after_i, off_after_i, low_wake_i, off_wake_i, metered_i,
      repowered_i, turn_begins, turn_runs, asks, runs, starts
    };
    assign {meter_busy, power_state_o, wake, energy_o, busy_cycles_o} = '0;
  end

  // ----------------------------------------------------------------------------------------------------- outcome
  logic o_valid, o_take;
  logic [REPLY_BITS-1:0] o_reply;
  logic [63:0] o_digest;
  logic [15:0] o_status;
  logic [31:0] o_length;
  work_outcome u_outcome (
      .clk_i,
      .rst_i(clear),
      .frozen_i,
      .finish_i(finish),
      .reply_i(head_reply),
      .digest_i(head_digest ^ {63'h0, corrupt_i}),
      .length_i(head_length),
      .refuse_i(refuse || no_context),
      .reason_i(no_context ? no_reason : reason),
      .refuse_reply_i(no_context ? no_reply : reply),
      .held_o(held),
      .busy_o(outcome_busy),
      .valid_o(o_valid),
      .ack_o(r_ack_o),
      .reply_o(o_reply),
      .status_o(o_status),
      .digest_o(o_digest),
      .length_o(o_length),
      .take_i(o_take)
  );

  // Plain units and refusals go before what contexts answer: each frame that comes in has one answer at most, so none
  // can keep the others waiting for long.
  assign o_take      = r_take_i && o_valid;
  assign a_take      = r_take_i && !o_valid;
  assign r_valid_o   = o_valid || a_valid;
  assign r_reply_o   = o_valid ? o_reply : a_reply;
  assign r_status_o  = o_valid ? o_status : a_status;
  assign r_digest_o  = o_valid ? o_digest : a_digest;
  assign r_length_o  = o_valid ? o_length : a_length;
  assign r_cycles_o  = o_valid ? o_cycles : a_cycles;

  assign r_queued_o = {5'h0, queued};
  assign bad_o      = trailer && !good && moving;
  assign done_o     = finish && moving;
  assign refused_o  = (refuse && moving) || no_context;
  assign waiting_o  = timer_waiting || turn_waiting;
  assign busy_o     = timer_busy || outcome_busy || table_busy || turns_busy || meter_busy;
  assign wake_at_o  = turn_waiting ? turn_wake : timer_wake;  // of a unit: its switch is over before it is
endmodule
