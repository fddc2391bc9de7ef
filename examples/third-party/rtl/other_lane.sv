// Control frames on their way round, one direction: the switch's buffer, and the GPU's part in a message.
//
// All that comes in goes through one ring of 128 flits, or around it while it is empty. In THROUGH flits are
// handed from there to the GPU (one register, `gpu_*`), and stay in the buffer until their frame has left the
// GPU; so after a trip the read pointer is simply put back. In BYPASS flits go out directly.
module other_lane
  import ringhil_pkg::*;
#(
    parameter bit PORT2 = 1'b0  // flits come in by port 2
) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic [63:0] now_i,
    input  logic [ 7:0] card_id_i,
    input  logic [15:0] my_id_i,
    input  logic [31:0] control_i,
    input  logic [31:0] watchdog_i,
    input  logic [ 7:0] gpu_type_i,
    input  logic [15:0] weight_i,
    input  logic [ 7:0] errors_i,
    input  logic [ 7:0] peer_i,
    input  logic [15:0] fault_i,
    input  logic        frozen_i,
    input  logic        bypass_i,    // where the switch is told to stand
    output logic        bypassed_o,  // where it stands
    input  logic        c_valid_i,
    input  logic        c_sof_i,
    input  logic        c_eof_i,
    input  logic        c_bad_i,
    input  logic        c_marked_i,
    input  logic [63:0] c_data_i,
    // Whole frames of this GPU.
    input  logic        l_valid_i,
    input  logic        l_sof_i,
    input  logic        l_eof_i,
    input  logic [63:0] l_data_i,
    output logic        l_take_o,
    output logic        k_valid_o,
    output logic        k_sof_o,
    output logic        k_eof_o,
    output logic        k_bad_o,
    output logic        k_flip_o,
    output logic [63:0] k_data_o,
    output logic [ 3:0] mrx_ctl_o,
    output logic [63:0] mrx_data_o,
    output logic        trip_o,
    output logic        counted_o,
    output logic        purged_o,
    output logic        ttl_dropped_o,
    output logic        overflow_o,
    output logic        idle_o
);
  localparam int DEPTH = 128;
  typedef logic [7:0] place_t;  // one bit more than an address, to tell full from empty

  // ---- in: TTL, and what the buffer can't take
  logic [67:0] mem[DEPTH];
  place_t in_q, out_q, base_q;
  logic ignore_q, start, spent, crowded, last_place, put;
  logic [67:0] arrival;
  place_t held;
  assign held       = in_q - base_q;
  assign crowded    = held >= 8'(DEPTH - 2);
  assign last_place = held == 8'(DEPTH - 1);
  assign start      = c_valid_i && c_sof_i;
  assign spent      = start && c_data_i[31:16] == 16'd0;
  assign put        = c_valid_i && (c_sof_i ? !spent && !crowded : !ignore_q);
  assign arrival = {
    (c_bad_i || (last_place && !c_eof_i)) && (c_eof_i || last_place),
    c_marked_i,
    c_eof_i || last_place,
    c_sof_i,
    c_sof_i ? {c_data_i[63:32], c_data_i[31:16] - 16'd1, c_data_i[15:0]} : c_data_i
  };
  assign ttl_dropped_o = spent;
  assign overflow_o = (start && !spent && crowded) || (put && last_place && !c_eof_i);

  // ---- next flit
  logic have, h_bad, h_marked, h_eof, h_sof, take;
  logic [63:0] h_data;
  assign have = in_q != out_q || put;
  assign {h_bad, h_marked, h_eof, h_sof, h_data} = in_q != out_q ? mem[out_q[6:0]] : arrival;

  // ---- the GPU
  logic gpu_q, bad_q, marked_q, eof_q, sof_q, gpu_move, gpu_k, gpu_m, gpu_drop, gpu_active;
  logic [63:0] data_q, meta_q, first_q, shown;  // meta: epoch, sequence
  logic [1:0] at_q, step_q;  // number of the flit; record flits sent
  logic [7:0] stamp_q;
  logic [1:0] way_q, way;  // of the frame
  logic stat_q, record_q, counted_q, wrapped_q, with_q, insert;
  logic [15:0] hop_q, hop;
  logic [63:0] record0, record1;
  localparam logic [1:0] ON = 2'd0, HOME = 2'd1, PURGE = 2'd2;

  logic is_stat, foreign;
  assign is_stat = data_q[63:56] == KIND_STATISTICS;
  assign foreign = is_stat && control_i[CONTROL_MONITOR];
  assign way = !sof_q ? way_q : data_q[15:0] == my_id_i && data_q[55:48] == card_id_i ? HOME
      : foreign && data_q[32+FLAG_CIRCULATING] ? PURGE : ON;
  assign gpu_active = gpu_q && !frozen_i && !bypassed_o;
  assign insert   = record_q && eof_q && !sof_q && step_q != 2'd2;
  assign gpu_k    = gpu_active && way == ON;
  assign gpu_m    = gpu_active && way == HOME;
  assign gpu_drop = gpu_active && way == PURGE;

  logic count_here, room;
  assign count_here = stat_q && !wrapped_q && at_q == 2'd2 && !eof_q && !sof_q;
  assign room = data_q[47:32] < {1'b0, data_q[14:0]};
  assign hop  = data_q[63:48] + (fault_i[FAULT_SKIP_COUNT] ? 16'd0 : fault_i[FAULT_DOUBLE_COUNT] ? 16'd2 : 16'd1);
  assign record0 = {
    my_id_i, hop_q, fault_i[FAULT_SLOW] ? STATE_DEGRADED : STATE_WORKING,
    3'b000, marked_q, bad_q && !marked_q, PORT2, control_i[CONTROL_BOUNDARY], control_i[CONTROL_ENTRY_CAPABLE],
    gpu_type_i, stamp_q
  };
  assign record1 = {
    weight_i, errors_i, control_i[CONTROL_BOUNDARY] ? peer_i : NO_CARD,
    ~crc_half(crc_flit(crc_flit(CRC_INITIAL, meta_q), first_q),
              {weight_i, errors_i, control_i[CONTROL_BOUNDARY] ? peer_i : NO_CARD})
  };
  always @* begin
    shown = data_q;
    if (sof_q && foreign) shown[32+FLAG_CIRCULATING] = 1'b1;
    if (count_here) begin
      shown[63:48] = hop;
      if (with_q && room) shown[47:32] = data_q[47:32] + 16'd1;
      else if (with_q) shown[15] = 1'b1;
    end
    if (insert) shown = step_q == 2'd0 ? record0 : record1;
  end
  assign counted_o = counted_q && gpu_k && gpu_move && eof_q && !bad_q;
  assign purged_o  = gpu_drop && sof_q;

  // ---- out: the GPU's stream and the local one by frames, in turn; or straight past the GPU
  logic lane_open_q, local_open_q, local_last_q, use_k, use_l, cut, change, back, lost_q, inside_q, fed_eof_q;
  logic mid_q, skip_q, straight;
  assign straight = bypassed_o && have && !skip_q;
  assign use_k = gpu_k && (lane_open_q || (!local_open_q && (!l_valid_i || local_last_q)));
  assign use_l = l_valid_i && !bypassed_o && !use_k && !lane_open_q && (local_open_q || !bypass_i);
  // The switch goes over between local frames, at once for anything else.
  assign change = bypass_i && !bypassed_o && !local_open_q;
  assign cut    = change && lane_open_q;
  assign gpu_move = !change && ((gpu_k && use_k && !insert) || gpu_m || gpu_drop);
  assign take     = bypassed_o ? have : have && !change && (!gpu_q || gpu_move);
  assign back     = bypassed_o && !bypass_i && !(take ? !h_eof : (mid_q || skip_q));
  assign l_take_o = use_l;
  assign k_valid_o = straight || cut || (use_k && !change) || use_l;
  always @* begin
    {k_bad_o, k_eof_o, k_sof_o, k_data_o} = {h_bad, h_eof, h_sof, h_data};
    if (use_l) {k_bad_o, k_eof_o, k_sof_o, k_data_o} = {1'b0, l_eof_i, l_sof_i, l_data_i};
    else if (cut) {k_bad_o, k_eof_o, k_sof_o, k_data_o} = {3'b110, 64'h0};
    else if (!bypassed_o) {k_bad_o, k_eof_o, k_sof_o, k_data_o} = {bad_q, eof_q && !insert, sof_q, shown};
  end
  assign k_flip_o = use_k && !change && fault_i[FAULT_CORRUPT] && at_q == 2'd2 && !sof_q && !eof_q;

  // ---- watchdog: from when a flit is taken, or was last acted on
  logic [63:0] due_q;
  logic acts;
  assign acts   = gpu_active;
  assign trip_o = gpu_q && !acts && !bypassed_o && now_i >= due_q;
  assign idle_o = in_q == out_q && !gpu_q && mrx_ctl_o == 4'h0 && !insert;

  place_t beyond;
  assign beyond = out_q + 8'd1 - base_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      in_q         <= 8'h0;
      out_q        <= 8'h0;
      base_q       <= 8'h0;
      ignore_q     <= 1'b1;
      bypassed_o   <= 1'b0;
      gpu_q        <= 1'b0;
      eof_q        <= 1'b0;
      record_q     <= 1'b0;
      counted_q    <= 1'b0;
      step_q       <= 2'd0;
      at_q         <= 2'd0;
      stat_q       <= 1'b0;
      lane_open_q  <= 1'b0;
      local_open_q <= 1'b0;
      local_last_q <= 1'b0;
      lost_q       <= 1'b0;
      inside_q     <= 1'b0;
      fed_eof_q    <= 1'b0;
      mid_q        <= 1'b0;
      skip_q       <= 1'b0;
      mrx_ctl_o    <= 4'h0;
      mrx_data_o   <= 64'h0;
    end else begin
      if (start) ignore_q <= spent || crowded;
      else if (put && last_place) ignore_q <= 1'b1;
      if (put) begin
        mem[in_q[6:0]] <= arrival;
        in_q <= in_q + 8'd1;
      end
      mrx_ctl_o  <= gpu_m && gpu_move ? {bad_q, eof_q, sof_q, 1'b1} : 4'h0;
      mrx_data_o <= gpu_m && gpu_move ? data_q : 64'h0;

      // a flit leaves the GPU
      if (gpu_move) begin
        gpu_q <= 1'b0;
        at_q  <= sof_q ? 2'd1 : at_q == 2'd3 ? 2'd3 : at_q + 2'd1;
        if (sof_q) begin
          way_q     <= way;
          stat_q    <= is_stat;
          with_q    <= data_q[32+FLAG_WITH_RECORDS];
          wrapped_q <= data_q[32+FLAG_WRAPPED];
          record_q  <= 1'b0;
          counted_q <= 1'b0;
          step_q    <= 2'd0;
        end else if (at_q == 2'd1) meta_q <= data_q;
        if (count_here) begin
          hop_q    <= hop;
          counted_q <= 1'b1;
          record_q <= with_q && room;
        end
        if (eof_q) {inside_q, record_q, step_q} <= 4'h0;
      end else if (use_k && !change) begin
        step_q  <= step_q + 2'd1;
        if (step_q == 2'd0) first_q <= record0;
      end
      if (use_k && !change) begin
        lane_open_q <= !k_eof_o;
        local_last_q <= 1'b0;
      end
      if (use_l) begin
        local_open_q <= !l_eof_i;
        local_last_q <= 1'b1;
      end
      if ((take && !bypassed_o) || acts) due_q <= now_i + 64'(watchdog_i);

      // a flit goes to the GPU, or past it
      if (take) begin
        out_q  <= out_q + 8'd1;
        if (bypassed_o) begin
          base_q <= out_q + 8'd1;
          mid_q  <= !h_eof;
          if (h_eof) skip_q <= 1'b0;
        end else begin
          gpu_q <= 1'b1;
          {bad_q, marked_q, eof_q, sof_q, data_q} <= {h_bad, h_marked, h_eof, h_sof, h_data};
          fed_eof_q <= h_eof;
          if (h_sof) begin
            stamp_q  <= now_i[7:0];
            inside_q <= 1'b1;
            lost_q   <= 1'b0;
            base_q   <= out_q;
          end else if (lost_q || beyond > 8'(DEPTH / 2)) begin
            lost_q <= 1'b1;
            base_q <= out_q + 8'd1;
          end
        end
      end else if (gpu_move && eof_q) base_q <= out_q;

      // the switch goes over
      if (change) begin
        bypassed_o  <= 1'b1;
        lane_open_q <= 1'b0;
        gpu_q       <= 1'b0;
        record_q    <= 1'b0;
        step_q      <= 2'd0;
        inside_q    <= 1'b0;
        lost_q      <= 1'b0;
        mid_q       <= 1'b0;
        if (inside_q && !lost_q) out_q <= base_q;
        else base_q <= out_q;
        skip_q <= inside_q && lost_q && !fed_eof_q;
      end else if (back) bypassed_o <= 1'b0;
    end
  end
endmodule
