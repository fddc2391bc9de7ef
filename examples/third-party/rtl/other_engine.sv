// Work units in, results out: puts segments together, works for a time, makes the frame of the answer.
//
// A unit in the middle is kept under the card that it comes from (16), or, from this card, under its way in (4). Its
// sums are those of the last good segment that followed; any other changes nothing.
module other_engine
  import ringhil_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic [63:0] now_i,
    input  logic [ 7:0] card_id_i,
    input  logic [15:0] my_id_i,
    input  logic [15:0] ring_size_i,
    input  logic [31:0] setup_i,
    input  logic [31:0] per_flit_i,
    input  logic        slow_i,
    input  logic        corrupt_i,
    input  logic        frozen_i,
    input  logic        flush_i,
    input  logic [31:0] across_i,    // cards that this GPU speaks to
    input  logic        e_valid_i,
    input  logic        e_sof_i,
    input  logic        e_eof_i,
    input  logic        e_bad_i,
    input  logic [ 1:0] e_from_i,
    input  logic [63:0] e_data_i,
    // The answer, as a stream of its own: where it wants to go (0 cw, 1 ccw, 2 CPU, 3 other card).
    output logic        r_valid_o,
    output logic        r_sof_o,
    output logic        r_eof_o,
    output logic [ 1:0] r_to_o,
    output logic [63:0] r_data_o,
    input  logic        r_take_i,
    output logic        bad_o,
    output logic        done_o,
    output logic        refused_o,
    output logic        idle_o,
    output logic        timed_o,
    output logic [63:0] until_o
);
  // ---- one segment
  logic [5:0] at_q;
  logic [31:0] epoch_q, unit_q, length_q, e2e_q, e2e_in, crc_q, add_q;
  logic [15:0] home_q, attempt_q, segment_q;
  logic [7:0] compute_q, card_q;
  logic work_q, spoiled_q, last_q, follows_q;
  logic [4:0] key;

  logic [31:0] began_q;  // of the units that may be in the middle
  logic [79:0] name_mem[32];  // epoch, unit, attempt
  logic [111:0] sums_mem[32];  // next segment, crc, sum, bytes
  logic [15:0] next_segment;
  logic [31:0] next_crc, next_add;
  logic [31:0] next_bytes, bytes_q;
  logic [15:0] size_q;
  logic [7:0] card;
  assign card = at_q == 6'd3 ? e_data_i[23:16] : card_q;
  assign key = card == card_id_i ? {3'b100, e_from_i} : {1'b0, card[3:0]};
  assign {next_segment, next_crc, next_add, next_bytes} = sums_mem[key];

  logic ended, good;
  assign e2e_in = e_sof_i ? CRC_INITIAL : e2e_q;
  assign ended  = e_valid_i && e_eof_i && !frozen_i && !flush_i && !spoiled_q && !e_sof_i;
  assign good   = ended && !e_bad_i && at_q > 6'd3 && ~e2e_q == e_data_i[63:32];  // its header is whole
  assign bad_o  = ended && !good && work_q;

  // ---- outcome of a segment
  logic whole, refuse, running_q;
  logic [2:0] count_q;
  logic [15:0] reason;
  logic complete;
  assign complete = follows_q && bytes_q == length_q;
  assign whole  = good && work_q && last_q && complete && compute_q == 8'h0 && count_q + 3'(running_q) < 3'd4;
  assign refuse = good && work_q && last_q && !whole;
  assign reason = !complete ? ACK_INCOMPLETE : compute_q != 8'h0 ? ACK_UNKNOWN_KIND : ACK_BUSY;

  localparam int JOB = 138;  // from 2, card 8, epoch 32, unit 32, source 16, attempt 16, length 32
  logic [JOB-1:0] job, queue_mem[4], run_q, result_q, refusal_q, sent_q;
  logic [63:0] job_sums, queue_sums[4], run_sums_q;
  logic [1:0] head_q, free_place;  // the sum is for two bits: an index could be computed with more
  assign free_place = head_q + count_q[1:0];
  assign job = {e_from_i, card_q, epoch_q, unit_q, home_q, attempt_q, length_q};
  assign job_sums = {crc_q, add_q};

  // ---- computing, and the answer
  logic result_due_q, refusal_due_q, begin_run, finish, answering_q, refusal_sent_q, pick;
  logic [63:0] until_q, digest_q, answer_digest_q;
  logic [31:0] cost_q, took_q, answer_took_q, cost;
  logic [15:0] refusal_reason_q, answer_status_q;
  logic [7:0] queued_q;
  assign begin_run = !running_q && count_q != 3'd0 && !frozen_i && !flush_i;
  assign finish = running_q && now_i >= until_q && !result_due_q && !frozen_i && !flush_i;
  assign done_o = finish;
  assign refused_o = refuse && !refusal_due_q;
  assign cost = setup_i + (((queue_mem[head_q][31:0] + 32'd7) >> 3)) * per_flit_i;
  assign until_o = until_q;
  assign timed_o = running_q && !result_due_q && !frozen_i;
  assign idle_o = !answering_q && !result_due_q && !refusal_due_q && (count_q == 3'd0 || running_q || frozen_i);

  always_ff @(posedge clk_i) begin
    if (rst_i || flush_i) begin
      began_q       <= 32'h0;
      spoiled_q     <= 1'b1;
      count_q       <= 3'd0;
      head_q        <= 2'd0;
      running_q     <= 1'b0;
      result_due_q  <= 1'b0;
      refusal_due_q <= 1'b0;
    end else begin
      if (e_valid_i) begin
        if (e_sof_i) spoiled_q <= frozen_i;
        else if (frozen_i) spoiled_q <= 1'b1;
        at_q  <= e_sof_i ? 6'd1 : at_q == 6'h3F ? at_q : at_q + 6'd1;
        e2e_q <= crc_flit(e2e_in, e_sof_i ? e_data_i & E2E_FLIT0 : e_data_i);
        if (e_sof_i) begin
          work_q <= e_data_i[63:56] == KIND_WORK;
          last_q <= e_data_i[32+FLAG_LAST];
        end else if (at_q == 6'd1) {epoch_q, unit_q} <= e_data_i;
        else if (at_q == 6'd2) {home_q, attempt_q, segment_q, size_q} <= e_data_i;
        else if (at_q == 6'd3) begin
          {length_q, compute_q, card_q} <= e_data_i[63:16];
          follows_q <= segment_q == 16'd0
              || (began_q[key] && next_segment == segment_q && name_mem[key] == {epoch_q, unit_q, attempt_q});
          {crc_q, add_q} <= segment_q == 16'd0 ? {CRC_INITIAL, 32'h0} : {next_crc, next_add};
          bytes_q <= (segment_q == 16'd0 ? 32'h0 : next_bytes) + 32'(size_q);
        end else if (!e_eof_i) begin
          crc_q   <= crc_flit(crc_q, e_data_i);
          add_q   <= add_q + e_data_i[63:32] + e_data_i[31:0];
        end
      end
      if (good && work_q && follows_q) begin
        began_q[key] <= !last_q;
        name_mem[key] <= {epoch_q, unit_q, attempt_q};
        sums_mem[key] <= {segment_q + 16'd1, crc_q, add_q, bytes_q};
      end
      if (whole) begin
        queue_mem[free_place]  <= job;
        queue_sums[free_place] <= job_sums;
      end
      count_q <= count_q + 3'(whole) - 3'(begin_run);
      if (begin_run) begin
        head_q     <= head_q + 2'd1;
        run_q      <= queue_mem[head_q];
        run_sums_q <= queue_sums[head_q];
        running_q  <= 1'b1;
        cost_q     <= slow_i ? {cost[29:0], 2'b00} : cost;
        until_q    <= now_i + 64'(slow_i ? {cost[29:0], 2'b00} : cost);
      end
      if (refused_o) begin
        refusal_due_q <= 1'b1;
        refusal_q <= job;
        refusal_reason_q <= reason;
      end else if (pick && refusal_due_q) refusal_due_q <= 1'b0;
      if (finish) begin
        running_q    <= 1'b0;
        result_due_q <= 1'b1;
        result_q     <= run_q;
        digest_q     <= {~run_sums_q[63:32], run_sums_q[31:1], run_sums_q[0] ^ corrupt_i};
        took_q       <= cost_q;
      end else if (pick && !refusal_due_q) result_due_q <= 1'b0;
    end
  end

  // ---- the answer on its way: not the GPU's any more
  logic [2:0] step_q;
  logic [31:0] out_crc_q, out_unit, out_epoch, out_length;
  logic [15:0] out_home, out_attempt;
  logic [7:0] out_card;
  logic [1:0] out_from;
  assign pick = !answering_q && (refusal_due_q || result_due_q) && !frozen_i && !flush_i;
  assign {out_from, out_card, out_epoch, out_unit, out_home, out_attempt, out_length} = sent_q;
  always @* begin
    // Out of the port that the work came in by; to another card as its GPU speaks to that.
    if (out_card == card_id_i) r_to_o = out_from[1] ? out_from : {1'b0, !out_from[0]};
    else r_to_o = out_card < 8'd32 && across_i[out_card[4:0]] ? 2'd3 : 2'd0;
    unique case (step_q)
      3'd0: r_data_o = {refusal_sent_q ? KIND_ACKNOWLEDGEMENT : KIND_RESULT, out_card,
                        13'h0, 1'b1, 1'b0, r_to_o == 2'd1, ring_size_i + 16'd1, out_home};
      3'd1: r_data_o = {out_epoch, out_unit};
      3'd2: r_data_o = {my_id_i, out_attempt, answer_status_q, card_id_i, queued_q};
      3'd3: r_data_o = answer_digest_q;
      3'd4: r_data_o = {out_length, answer_took_q};
      default: r_data_o = {~out_crc_q, 32'h0};
    endcase
  end
  assign r_valid_o = answering_q;
  assign r_sof_o   = step_q == 3'd0;
  assign r_eof_o   = step_q == 3'd5;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      answering_q <= 1'b0;
      step_q      <= 3'd0;
    end else if (pick) begin
      answering_q     <= 1'b1;
      step_q          <= 3'd0;
      refusal_sent_q  <= refusal_due_q;
      sent_q          <= refusal_due_q ? refusal_q : result_q;
      answer_status_q <= refusal_due_q ? refusal_reason_q : RESULT_DONE;
      answer_digest_q <= digest_q;
      answer_took_q   <= took_q;
      queued_q        <= 8'(count_q) + 8'(running_q);
    end else if (r_take_i) begin
      out_crc_q <= crc_flit(r_sof_o ? CRC_INITIAL : out_crc_q, r_sof_o ? r_data_o & E2E_FLIT0 : r_data_o);
      step_q    <= refusal_sent_q && step_q == 3'd2 ? 3'd5 : step_q + 3'd1;
      if (r_eof_o) answering_q <= 1'b0;
    end
  end
endmodule
