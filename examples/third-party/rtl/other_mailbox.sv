// What the firmware has to send: four queues of whole frames (clockwise, counter-clockwise, CPU, other card), the
// guardian that counts them, and the fault that sends statistics frames without end.
//
// A frame is written at the end of its queue at once, and counts only when its last flit has been let pass:
// otherwise the queue's end is put back. A frame that alone overfills the queue is dropped.
module other_mailbox
  import ringhil_pkg::*;
(
    input  logic         clk_i,
    input  logic         rst_i,
    input  logic [ 63:0] now_i,
    input  logic [  7:0] card_id_i,
    input  logic [ 15:0] my_id_i,
    input  logic [ 15:0] ring_size_i,
    input  logic [ 31:0] allowance_i,
    input  logic [ 31:0] period_i,
    input  logic         frozen_i,
    input  logic         out_i,           // the GPU is out of the ring: all that is written is lost
    input  logic         babble_i,
    input  logic         lose_i,          // keepalives are lost
    input  logic         mtx_valid_i,
    input  logic         mtx_sof_i,
    input  logic         mtx_eof_i,
    input  logic [  1:0] mtx_port_i,
    input  logic [ 63:0] mtx_data_i,
    output logic         mtx_ready_o,
    output logic [  3:0] q_valid_o,
    output logic [  3:0] q_sof_o,
    output logic [  3:0] q_eof_o,
    output logic [255:0] q_data_o,
    input  logic [  3:0] q_take_i,
    input  logic [  3:0] q_clear_i,
    output logic         muted_o,
    output logic         mutes_o,         // it happens now
    output logic         overflow_o,
    output logic         idle_o,
    output logic [ 63:0] until_o          // end of the period, where that matters
);
  // ---- who writes: the firmware, or the babbler its frames of five flits
  logic [2:0] step_q;
  logic turn_q, room, write, sof, eof, keepalive_q, keepalive;
  logic [1:0] port_q, to;
  logic [63:0] data, babbled;
  logic open_q;
  always @* begin
    unique case (step_q)
      3'd0: babbled = {KIND_STATISTICS, card_id_i, 15'h0, turn_q, ring_size_i + 16'd1, my_id_i};
      3'd1: babbled = {32'h0, 32'hBABB_1E00};
      3'd2: babbled = {16'd1, 16'd0, ring_size_i, 16'd0};
      3'd3: babbled = now_i;
      default: babbled = 64'h0;
    endcase
  end
  assign mtx_ready_o = !frozen_i && !babble_i && room;
  assign write = babble_i ? !frozen_i && room : mtx_valid_i && mtx_ready_o && (mtx_sof_i || open_q);
  assign sof   = babble_i ? step_q == 3'd0 : mtx_sof_i;
  assign eof   = babble_i ? step_q == 3'd4 : mtx_eof_i;
  assign data  = babble_i ? babbled : mtx_data_i;
  assign to    = babble_i ? {1'b0, turn_q} : sof ? mtx_port_i : port_q;
  assign keepalive = sof ? data[63:56] == KIND_KEEPALIVE : keepalive_q;

  // ---- guardian
  logic [31:0] sent_q;
  logic [63:0] end_q;
  logic over, fresh, begun_q, over_q, asks, pass, swallowed, out_lost;
  assign swallowed = keepalive && lose_i && !babble_i;
  assign asks  = write && eof && !out_lost;
  assign fresh = !begun_q || now_i >= end_q;
  assign over  = (fresh ? 32'd0 : sent_q) >= allowance_i;
  assign pass  = asks && !over && !muted_o && !out_i && !swallowed;
  assign mutes_o = asks && over && !muted_o;
  assign until_o = end_q;
  assign out_lost = out_i && !muted_o;

  // ---- queues
  logic [3:0] full, alone, empty;
  assign room = (full & ~alone) == 4'h0;
  assign overflow_o = write && |(full & alone) && !sof;
  for (genvar p = 0; p < 4; p++) begin : g_queue
    logic [64:0] mem[128];
    logic [7:0] in_q, whole_q, out_q, from;
    logic first_q, mine, toolong_q;
    assign mine = write && to == 2'(p);
    assign from = sof ? whole_q : in_q;
    assign full[p]  = in_q - out_q >= 8'd128;
    assign alone[p] = whole_q == out_q;
    assign empty[p] = whole_q == out_q;
    assign q_valid_o[p] = !empty[p];
    assign q_sof_o[p] = first_q;
    assign {q_eof_o[p], q_data_o[64*p+:64]} = mem[out_q[6:0]];
    always_ff @(posedge clk_i) begin
      if (rst_i || q_clear_i[p]) begin
        in_q      <= 8'h0;
        whole_q   <= 8'h0;
        out_q     <= 8'h0;
        first_q   <= 1'b1;
        toolong_q <= 1'b1;  // the rest of a frame that was being written is dropped too
      end else begin
        if (q_take_i[p]) begin
          out_q   <= out_q + 8'd1;
          first_q <= q_eof_o[p];
        end
        if (mine) begin
          if (sof) toolong_q <= 1'b0;
          if (!sof && (toolong_q || full[p])) begin
            toolong_q <= 1'b1;
            in_q <= whole_q;
          end else begin
            mem[from[6:0]] <= {eof, data};
            in_q <= eof && !pass ? whole_q : from + 8'd1;
            if (eof && pass) whole_q <= from + 8'd1;
          end
        end
      end
    end
  end

  assign idle_o = !babble_i && empty == 4'hF;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      step_q  <= 3'd0;
      turn_q  <= 1'b0;
      open_q  <= 1'b0;
      sent_q  <= 32'd0;
      end_q   <= 64'd0;
      begun_q <= 1'b0;
      over_q  <= 1'b0;
      muted_o <= 1'b0;
    end else begin
      if (babble_i) open_q <= 1'b0;
      else begin
        step_q <= 3'd0;
        if (frozen_i) open_q <= 1'b0;
        else if (write) open_q <= !eof;
      end
      if (write) begin
        if (sof) port_q <= to;
        if (sof) keepalive_q <= keepalive;
        if (babble_i) step_q <= eof ? 3'd0 : step_q + 3'd1;
        if (babble_i && eof) turn_q <= !turn_q;
      end
      if (muted_o && now_i >= end_q) begin
        // A whole period within the allowance, or the next one has to show it.
        if (!over_q) muted_o <= 1'b0;
        over_q  <= asks && over;
        sent_q  <= 32'(asks);
        begun_q <= over_q || asks;
        end_q   <= now_i + 64'(period_i);
      end else if (asks) begin
        begun_q <= 1'b1;
        over_q  <= over || (!fresh && over_q);
        sent_q  <= fresh ? 32'd1 : sent_q == 32'hFFFF_FFFF ? sent_q : sent_q + 32'd1;
        if (fresh) end_q <= now_i + 64'(period_i);
        if (over && !muted_o) begin  // a period begins anew
          muted_o <= 1'b1;
          over_q  <= 1'b0;
          sent_q  <= 32'd1;
          end_q   <= now_i + 64'(period_i);
        end
      end
    end
  end
endmodule
