// Control channel of the bypass switch, one direction: from the receiving port to the transmitting one,
// through the GPU or past it.
//
// THROUGH  flits go to the GPU's statistics unit (g_*) and come back edited (k_*); the switch keeps what it
//          has handed over until the frame has left the GPU: the shadow copy.
// BYPASS   flits go straight to the transmitter, one cycle in all; the GPU is held in reset (bypassed_o).
//
// TTL is decremented here in both states; a frame whose TTL is used up is dropped at its first flit, and so is one
// of a single flit.
//
// Going to BYPASS (bypass_i) happens at once unless a local frame is on its way out. A frame that the GPU had
// begun to send is ended with a bad flit, and the shadow copy is sent again from its beginning: no hang loses
// a frame. Only of a frame longer than half the buffer the beginning may be gone by then; it is cut, and
// nobody accepts it. Going back to THROUGH waits for a frame boundary.
//
// Frames of this node's own (l_*, whole frames) leave between transit frames, in turn with them; never while
// the GPU is bypassed.
//
// Watchdog: a flit that the GPU has taken must be acted on (k_ack_i or k_valid_i) within watchdog_i cycles;
// trip_o is high in the cycle in which that time is up.
module lane_control
  import ringhil_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic [63:0] now_i,
    input  logic [31:0] watchdog_i,
    input  logic        bypass_i,
    output logic        bypassed_o,
    output logic        switching_o,  // goes to BYPASS in this cycle: what the GPU does now doesn't count
    output logic        trip_o,
    // From the receiving port.
    input  logic        c_valid_i,
    input  logic        c_sof_i,
    input  logic        c_eof_i,
    input  logic        c_bad_i,
    input  logic        c_marked_i,
    input  logic [63:0] c_data_i,
    // To the GPU and back.
    output logic        g_valid_o,
    output logic        g_sof_o,
    output logic        g_eof_o,
    output logic        g_bad_o,
    output logic        g_marked_o,
    output logic [63:0] g_data_o,
    input  logic        k_ack_i,    // the flit in the GPU is done with
    input  logic        k_last_i,   // and it was its frame's last
    input  logic        k_valid_i,
    input  logic        k_sof_i,
    input  logic        k_eof_i,
    input  logic        k_bad_i,
    input  logic        k_flip_i,
    input  logic [63:0] k_data_i,
    // Local frames.
    input  logic        l_valid_i,
    input  logic        l_sof_i,
    input  logic        l_eof_i,
    input  logic [63:0] l_data_i,
    output logic        l_pop_o,
    // To the transmitter, which always takes it.
    output logic        o_valid_o,
    output logic        o_sof_o,
    output logic        o_eof_o,
    output logic        o_bad_o,
    output logic        o_flip_o,
    output logic [63:0] o_data_o,
    output logic        ttl_dropped_o,
    output logic        overflowed_o,
    output logic        busy_o
);
  localparam int DEPTH = 128;
  localparam logic [7:0] DEPTH_L = 8'(DEPTH);
  localparam logic [7:0] HALF = 8'(DEPTH / 2);

  logic [63:0] mem_q[DEPTH];
  logic [3:0] tag_q[DEPTH];
  logic [7:0] wr_q, rd_q, base_q, rd_d, base_d, held, kept;

  // Writer. One place is kept for the end of a frame that did not fit.
  logic skip_q, skip_d, clip_q, clip_d;  // the rest of the frame is dropped: all of it / up to a bad end
  logic write, clip, full;
  assign kept = rd_q - base_q;  // handed over to the GPU
  // Nothing is worked out while nothing arrives.
  always @* begin
    {held, full, clip, write, overflowed_o} = '0;
    skip_d = skip_q;
    clip_d = clip_q;
    if (c_valid_i) begin
      held  = wr_q - base_q;
      full  = held >= DEPTH_L - 8'h1;
      clip  = clip_q || full;
      write = !(c_sof_i ? full : skip_q) && (c_eof_i ? held != DEPTH_L : !clip || c_sof_i);
      overflowed_o = c_sof_i ? full : !skip_q && !clip_q && full && !c_eof_i;
      skip_d = !c_eof_i && (c_sof_i ? full : skip_q);
      clip_d = !c_eof_i && !c_sof_i && !skip_q && clip;
    end
  end

  // Head: what has been written, or what is just being written.
  logic stored, head_valid, head_sof, head_eof, head_bad, head_marked, expired;
  logic [63:0] head_data, hop_data;
  assign stored = rd_q != wr_q;
  assign head_valid = stored || write;
  always @* begin
    {head_sof, head_eof, head_bad, head_marked} = 4'h0;
    head_data = 64'h0;
    if (stored) begin
      {head_sof, head_eof, head_bad, head_marked} = tag_q[rd_q[6:0]];
      head_data = mem_q[rd_q[6:0]];
    end else if (write) begin
      head_sof    = c_sof_i;
      head_eof    = c_eof_i;
      head_bad    = c_bad_i || clip_q;
      head_marked = c_marked_i;
      head_data   = c_data_i;
    end
    hop_data = head_data;
    if (head_sof) hop_data[31:16] = head_data[31:16] - 16'h1;
  end
  // A frame of one flit has no room for a TTL beside its link CRC, so it would circle for ever.
  assign expired = head_sof && (head_eof || head_data[31:16] == 16'h0);

  // Reader.
  logic bypass_q, open_q, drop_q, local_q, turn_q, replay_q, handed_q, out_open_q;
  logic bypass_d, open_d, drop_d, local_d, turn_d, replay_d, handed_d, out_open_d;
  logic switch_off, switch_on, local_now, idle, pass, drop, feed;

  assign switch_off = bypass_i && !bypass_q && (!local_q || l_eof_i);
  assign switch_on  = !bypass_i && bypass_q && !open_q && !drop_q;
  assign idle = !open_q && !drop_q && !handed_q && base_q == rd_q;
  assign local_now = local_q || (!bypass_q && !switch_off && idle && l_valid_i && (turn_q || !head_valid));

  logic taken;
  assign taken = !handed_q || k_ack_i;  // the GPU can take a flit
  always @* begin
    {drop, pass} = 2'b00;
    if (head_valid && !switch_off && !switch_on && !local_now) begin
      drop = drop_q || (expired && (bypass_q || (!open_q && !handed_q)));
      pass = !drop_q && (bypass_q ? !expired : open_q ? taken : !expired && taken && !(l_valid_i && turn_q));
    end
  end

  assign feed = pass && !bypass_q;
  assign g_valid_o = feed;
  assign g_sof_o = head_sof;
  assign g_eof_o = head_eof;
  assign g_bad_o = head_bad;
  assign g_marked_o = head_marked;
  assign g_data_o = hop_data;

  always @* begin
    rd_d   = rd_q + 8'(pass || drop);
    base_d = base_q;
    if (switch_off) begin
      if (replay_q) rd_d = base_q;
      else base_d = rd_q;
    end else if (bypass_q || (drop && !handed_q)) base_d = rd_d;
    else if (k_ack_i && handed_q && (k_last_i || kept >= HALF)) base_d = rd_q;
  end

  always @* begin
    bypass_d   = bypass_q && !switch_on;
    open_d     = open_q;
    drop_d     = drop_q;
    handed_d   = feed || (handed_q && !k_ack_i);
    out_open_d = out_open_q;
    replay_d   = replay_q;
    if (switch_off) begin
      bypass_d   = 1'b1;
      open_d     = 1'b0;
      drop_d     = drop_q || (!replay_q && open_q);
      handed_d   = 1'b0;
      out_open_d = 1'b0;
      replay_d   = 1'b1;
    end else begin
      if (pass) open_d = !head_eof;
      if (drop) drop_d = !head_eof;
      if (k_valid_i && !bypass_q && !local_now) out_open_d = !k_eof_i;
      // Too long to be sent again: from here on only what the GPU still holds is kept.
      if (k_ack_i && handed_q) begin
        if (k_last_i) replay_d = 1'b1;
        else if (kept >= HALF) replay_d = 1'b0;
      end
    end
  end

  // Turns between local frames and those in transit.
  always @* begin
    local_d = local_now ? !l_eof_i : local_q;
    turn_d  = turn_q;
    if (l_pop_o && l_eof_i) turn_d = 1'b0;
    else if (pass && head_sof) turn_d = 1'b1;
  end

  // Output: local frame, abort of a cut frame, GPU, or straight through.
  logic abort;
  assign abort = switch_off && out_open_q;
  always @* begin
    o_valid_o = 1'b0;
    o_sof_o   = 1'b0;
    o_eof_o   = 1'b0;
    o_bad_o   = 1'b0;
    o_flip_o  = 1'b0;
    o_data_o  = 64'h0;
    if (local_now) begin
      o_valid_o = l_valid_i;
      o_sof_o   = l_sof_i;
      o_eof_o   = l_eof_i;
      o_data_o  = l_data_i;
    end else if (abort) begin
      o_valid_o = 1'b1;
      o_eof_o   = 1'b1;
      o_bad_o   = 1'b1;
    end else if (bypass_q) begin
      o_valid_o = pass;
      o_sof_o   = head_sof;
      o_eof_o   = head_eof;
      o_bad_o   = head_bad;
      o_data_o  = hop_data;
    end else if (!switch_off) begin
      o_valid_o = k_valid_i;
      o_sof_o   = k_sof_i;
      o_eof_o   = k_eof_i;
      o_bad_o   = k_bad_i;
      o_flip_o  = k_flip_i;
      o_data_o  = k_data_i;
    end
  end
  assign l_pop_o = local_now && l_valid_i;
  assign ttl_dropped_o = drop && head_sof;

  // Watchdog.
  logic stalled, run_q;
  logic [63:0] trip_at_q;
  assign stalled = handed_q && !k_ack_i && !k_valid_i && !bypass_q;
  assign trip_o  = stalled && run_q && now_i >= trip_at_q;

  assign bypassed_o = bypass_q;
  assign switching_o = switch_off;
  assign busy_o = wr_q != base_q || local_q || (l_valid_i && !bypass_q) || handed_q || bypass_i != bypass_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      wr_q       <= 8'h0;
      rd_q       <= 8'h0;
      base_q     <= 8'h0;
      skip_q     <= 1'b0;
      clip_q     <= 1'b0;
      bypass_q   <= 1'b0;
      open_q     <= 1'b0;
      drop_q     <= 1'b0;
      local_q    <= 1'b0;
      turn_q     <= 1'b0;
      replay_q   <= 1'b1;
      handed_q   <= 1'b0;
      out_open_q <= 1'b0;
      run_q      <= 1'b0;
      trip_at_q  <= 64'h0;
    end else begin
      if (write) begin
        mem_q[wr_q[6:0]] <= c_data_i;
        tag_q[wr_q[6:0]] <= {c_sof_i, c_eof_i, c_bad_i || clip_q, c_marked_i};
        wr_q <= wr_q + 8'h1;
      end
      rd_q       <= rd_d;
      base_q     <= base_d;
      skip_q     <= skip_d;
      clip_q     <= clip_d;
      bypass_q   <= bypass_d;
      open_q     <= open_d;
      drop_q     <= drop_d;
      local_q    <= local_d;
      turn_q     <= turn_d;
      replay_q   <= replay_d;
      handed_q   <= handed_d;
      out_open_q <= out_open_d;
      run_q      <= stalled;
      if (stalled && !run_q) trip_at_q <= now_i + 64'(watchdog_i);
    end
  end

`ifndef SYNTHESIS
  // The memory doesn't overrun, and the output has one owner.
  always @(posedge clk_i) begin
    if (!rst_i) begin
      assert (8'(wr_q - base_q) <= DEPTH_L && kept <= 8'(wr_q - base_q))
      else $fatal(1, "the shadow copy overruns");
      assert (!local_now || bypass_q || !k_valid_i)
      else $fatal(1, "the GPU sends into a local frame");
      assert (!abort || !pass)
      else $fatal(1, "a cut frame is ended and another one goes on");
    end
  end
`endif
endmodule
