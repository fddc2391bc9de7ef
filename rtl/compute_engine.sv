// Compute engine: takes work units in segments, works for a time in proportion to their size, answers with a
// digest of the bytes that really arrived: CRC-32 and sum of 32-bit words, both over whole flits.
//
// Several streams may each be in the middle of a unit: by where they arrive (e_from_i: clockwise lane,
// counter-clockwise lane, CPU, another card), and apart from these one for each other card that work comes from.
// A segment counts only when both its CRCs are good and it is the next one of its unit. With its last segment
// a unit goes into a queue of 4; it is refused (r_ack_o, with the reason) when the queue is full, when
// segments are missing, or when it asks for an unknown kind of computation. A damaged segment says nothing
// reliable, so it is only counted (bad_o); the CPU's timer deals with it.
//
// A unit takes setup_i + flits * per_flit_i cycles, four times that while slow_i. The outcome is held on r_* until r_take_i.
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
  // The segment that is arriving.
  logic [2:0] index_q;
  logic work_q, last_q;
  logic [63:0] unit_q;
  logic [15:0] source_q, attempt_q, segment_q, bytes_q;
  logic [7:0] kind_q, card_q;
  logic [31:0] length_q, crc_q, sum_q, e2e_q, total_q;

  // The unit that each stream is in the middle of.
  localparam int STREAMS = 20;
  logic [63:0] at_unit_q[STREAMS];
  logic [15:0] at_attempt_q[STREAMS];
  logic [15:0] at_segment_q[STREAMS];
  logic [31:0] at_crc_q[STREAMS];
  logic [31:0] at_sum_q[STREAMS];
  logic [31:0] at_total_q[STREAMS];
  logic [ 4:0] stream_q, stream;

  // Units that wait for the engine.
  logic [63:0] wait_unit_q[4];
  logic [15:0] wait_source_q[4];
  logic [ 7:0] wait_card_q[4];
  logic [15:0] wait_attempt_q[4];
  logic [63:0] wait_digest_q[4];
  logic [31:0] wait_length_q[4];
  logic [ 1:0] wait_from_q[4];
  logic [1:0] head_q, tail_q;
  logic [2:0] waiting_q;

  logic run_q, result_q, refuse_q;
  logic [63:0] finish_at_q;
  logic [31:0] cycles_q, cost, base;

  // The fourth flit of a frame tells the source's card; what that stream has so far is then looked up.
  assign stream = e_data_i[23:16] == card_id_i ? {3'd0, e_from_i} : 5'd4 + {1'b0, e_data_i[19:16]};

  logic trailer, good, next, complete, enqueue, refuse, finish;
  logic [15:0] reason;
  assign trailer = e_valid_i && e_eof_i && !e_sof_i && work_q;
  assign good = trailer && !e_bad_i && index_q >= 3'd4 && ~e2e_q == e_data_i[63:32];
  assign next = segment_q == 16'h0 || (at_unit_q[stream_q] == unit_q && at_attempt_q[stream_q] == attempt_q
                && at_segment_q[stream_q] == segment_q);
  assign complete = next && total_q == length_q;
  always @* begin
    reason = ACK_BUSY;
    if (!complete) reason = ACK_INCOMPLETE;
    else if (kind_q != 8'h0) reason = ACK_UNKNOWN_KIND;
  end
  assign enqueue = good && last_q && complete && kind_q == 8'h0 && waiting_q != 3'd4;
  assign refuse  = good && last_q && !enqueue;
  assign finish  = run_q && now_i >= finish_at_q && !result_q;
  assign cost    = slow_i ? base << 2 : base;
  assign base    = setup_i + ((wait_length_q[head_q] + 32'd7) >> 3) * per_flit_i;

  assign bad_o     = trailer && !good && !frozen_i && !flush_i;
  assign done_o    = finish && !frozen_i && !flush_i;
  assign refused_o = refuse && !frozen_i && !flush_i;
  assign waiting_o = run_q && !frozen_i && !result_q;
  assign wake_at_o = finish_at_q;
  assign busy_o = !frozen_i && ((waiting_q != 3'd0 && !run_q && !result_q) || result_q || refuse_q);

  // Outcome: refusals first, they are short.
  logic [63:0] result_unit_q, result_digest_q, refuse_unit_q;
  logic [15:0] result_home_q, result_attempt_q, refuse_home_q, refuse_attempt_q, refuse_status_q;
  logic [7:0] result_card_q, refuse_card_q;
  logic [31:0] result_length_q;
  logic [1:0] result_from_q, refuse_from_q;
  assign r_valid_o   = (result_q || refuse_q) && !frozen_i && !flush_i;
  assign r_ack_o     = refuse_q;
  assign r_unit_o    = refuse_q ? refuse_unit_q : result_unit_q;
  assign r_home_o    = refuse_q ? refuse_home_q : result_home_q;
  assign r_card_o    = refuse_q ? refuse_card_q : result_card_q;
  assign r_attempt_o = refuse_q ? refuse_attempt_q : result_attempt_q;
  assign r_status_o  = refuse_q ? refuse_status_q : RESULT_DONE;
  assign r_from_o    = refuse_q ? refuse_from_q : result_from_q;
  assign r_queued_o  = {5'h0, waiting_q};
  assign r_digest_o  = result_digest_q;
  assign r_length_o  = result_length_q;
  assign r_cycles_o  = cycles_q;

  always_ff @(posedge clk_i) begin
    if (rst_i || flush_i) begin
      work_q    <= 1'b0;
      index_q   <= 3'd0;
      head_q    <= 2'd0;
      tail_q    <= 2'd0;
      waiting_q <= 3'd0;
      run_q     <= 1'b0;
      result_q  <= 1'b0;
      refuse_q  <= 1'b0;
      for (int i = 0; i < STREAMS; i++) at_segment_q[i] <= 16'h0;
    end else if (!frozen_i) begin
      if (e_valid_i) begin
        index_q <= e_sof_i ? 3'd1 : index_q == 3'd7 ? 3'd7 : index_q + 3'd1;
        if (e_sof_i) begin
          work_q <= e_data_i[63:56] == KIND_WORK && !e_eof_i;
          last_q <= e_data_i[32+FLAG_LAST];
          e2e_q  <= crc_flit(CRC_INITIAL, e_data_i & E2E_FLIT0);
        end else if (work_q && !e_eof_i) begin
          e2e_q <= crc_flit(e2e_q, e_data_i);
          unique case (index_q)
            3'd1: unit_q <= e_data_i;
            3'd2: {source_q, attempt_q, segment_q, bytes_q} <= e_data_i;
            3'd3: begin
              length_q <= e_data_i[63:32];
              kind_q   <= e_data_i[31:24];
              card_q   <= e_data_i[23:16];
              stream_q <= stream;
              crc_q    <= segment_q == 16'h0 ? CRC_INITIAL : at_crc_q[stream];
              sum_q    <= segment_q == 16'h0 ? 32'h0 : at_sum_q[stream];
              total_q  <= (segment_q == 16'h0 ? 32'h0 : at_total_q[stream]) + {16'h0, bytes_q};
            end
            default: begin
              crc_q <= crc_flit(crc_q, e_data_i);
              sum_q <= sum_q + e_data_i[63:32] + e_data_i[31:0];
            end
          endcase
        end
        if (e_eof_i) work_q <= 1'b0;
        if (good && next) begin
          at_unit_q[stream_q]    <= unit_q;
          at_attempt_q[stream_q] <= attempt_q;
          at_segment_q[stream_q] <= last_q ? 16'h0 : segment_q + 16'h1;
          at_crc_q[stream_q]     <= crc_q;
          at_sum_q[stream_q]     <= sum_q;
          at_total_q[stream_q]   <= total_q;
        end
      end

      if (enqueue) begin
        wait_unit_q[tail_q]    <= unit_q;
        wait_source_q[tail_q]  <= source_q;
        wait_card_q[tail_q]    <= card_q;
        wait_attempt_q[tail_q] <= attempt_q;
        wait_digest_q[tail_q]  <= {~crc_q, sum_q};
        wait_length_q[tail_q]  <= length_q;
        wait_from_q[tail_q]    <= e_from_i;
        tail_q <= tail_q + 2'd1;
      end
      waiting_q <= waiting_q + 3'(enqueue) - 3'(finish);

      if (!run_q && waiting_q != 3'd0 && !result_q) begin
        run_q       <= 1'b1;
        finish_at_q <= now_i + 64'(cost);
        cycles_q    <= cost;
      end else if (finish) begin
        run_q            <= 1'b0;
        head_q           <= head_q + 2'd1;
        result_q         <= 1'b1;
        result_unit_q    <= wait_unit_q[head_q];
        result_home_q    <= wait_source_q[head_q];
        result_card_q    <= wait_card_q[head_q];
        result_attempt_q <= wait_attempt_q[head_q];
        result_digest_q  <= wait_digest_q[head_q] ^ (corrupt_i ? 64'h1 : 64'h0);
        result_length_q  <= wait_length_q[head_q];
        result_from_q    <= wait_from_q[head_q];
      end
      if (refuse && !(refuse_q && !r_take_i)) begin
        refuse_q         <= 1'b1;
        refuse_unit_q    <= unit_q;
        refuse_home_q    <= source_q;
        refuse_card_q    <= card_q;
        refuse_attempt_q <= attempt_q;
        refuse_status_q  <= reason;
        refuse_from_q    <= e_from_i;
      end else if (r_take_i && refuse_q) refuse_q <= 1'b0;
      if (r_take_i && !refuse_q) result_q <= 1'b0;
    end
  end
endmodule
