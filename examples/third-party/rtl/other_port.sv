// One port: state of the link, framing and CRC of what comes in, the data buffer with its credits, transmitter.
//
// A ring port (LOOP) that is not up hears its own transmitter; any other port then hears nothing. Nothing of that is on
// the wire: there are only carrier and remote fault, until the link is up again.
module other_port
  import ringhil_pkg::*;
#(
    parameter bit LOOP = 1'b0
) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic [63:0] now_i,
    input  logic [15:0] ring_size_i,
    input  logic [31:0] restore_i,
    input  logic        silent_i,
    input  logic [63:0] rx_data_i,
    input  logic [ 7:0] rx_ctl_i,
    output logic [63:0] tx_data_o,
    output logic [ 7:0] tx_ctl_o,
    // Control flits in; they can't be held back. At the end of a frame: bad, and whether an earlier hop said so.
    output logic        c_valid_o,
    output logic        c_sof_o,
    output logic        c_eof_o,
    output logic        c_bad_o,
    output logic        c_marked_o,
    output logic [63:0] c_data_o,
    // Data flits in, from the buffer.
    output logic        d_valid_o,
    output logic        d_sof_o,
    output logic        d_eof_o,
    output logic        d_bad_o,
    output logic [63:0] d_data_o,
    input  logic        d_pop_i,
    // Control flits out: always taken. Data flits out: when s_ready_o.
    input  logic        k_valid_i,
    input  logic        k_sof_i,
    input  logic        k_eof_i,
    input  logic        k_bad_i,
    input  logic        k_flip_i,
    input  logic [63:0] k_data_i,
    input  logic        s_valid_i,
    input  logic        s_sof_i,
    input  logic        s_eof_i,
    input  logic        s_bad_i,
    input  logic [63:0] s_data_i,
    output logic        s_ready_o,
    output logic [ 1:0] credits_o,
    output logic        up_o,       // in use
    output logic        fell_o,     // about to go down
    output logic        idle_o,
    output logic        timed_o,    // idle, but not beyond until_o
    output logic [63:0] until_o
);
  localparam logic [1:0] UP = 2'd0, DOWN = 2'd1, READY = 2'd2;

  // ---- the link
  logic [1:0] link_q, link_n;
  logic timing_q, carrier, refused, restart;
  logic [63:0] since_q;  // the carrier has been back long enough then
  assign carrier = rx_ctl_i[LINK_UP];
  assign refused = rx_ctl_i[LINK_FAULT];
  always @* begin
    link_n = link_q;
    if (!carrier) link_n = DOWN;
    else if (link_q == UP && refused) link_n = DOWN;
    else if (link_q == DOWN && timing_q && now_i >= since_q) link_n = READY;
    else if (link_q == READY && !refused) link_n = UP;
  end
  assign up_o    = link_q == UP;
  assign restart = up_o != (link_n == UP);
  assign fell_o  = up_o && restart;
  assign timed_o = timing_q && link_q == DOWN;
  assign until_o = since_q;

  // ---- in: one flit a cycle, so both channels share one CRC circuit
  logic [63:0] tx_data_q, in_data;
  logic [7:0] tx_ctl_q, in_ctl;
  logic [1:0] open_q;
  logic [31:0] sum_q[2];
  logic ch, live, cut_new, ends, wrong, crc_bad;
  logic full, long_cut;  // of the data buffer, below
  logic [31:0] sum_in, sum_end;
  assign in_data = up_o ? rx_data_i : tx_data_q;
  assign in_ctl  = up_o ? rx_ctl_i : LOOP ? tx_ctl_q : 8'h0;
  assign ch      = in_ctl[LINK_DATA];
  assign cut_new = in_ctl[LINK_SOF] && open_q[ch];  // the new frame is lost with the old one
  // A frame of one flit has its CRC where the TTL should be: it would never end.
  assign live    = in_ctl[LINK_VALID]
      && (in_ctl[LINK_SOF] ? !open_q[ch] && !restart && !in_ctl[LINK_EOF] : open_q[ch]);
  assign sum_in  = in_ctl[LINK_SOF] ? CRC_INITIAL : sum_q[ch];
  assign sum_end = ~crc_half(sum_in, in_data[63:32]);
  assign crc_bad = sum_end != in_data[31:0];
  assign ends    = live && in_ctl[LINK_EOF];
  assign wrong   = crc_bad || in_ctl[LINK_ERR];

  logic [1:0] cut;  // the frame in this channel is broken off
  for (genvar v = 0; v < 2; v++) begin : g_channel
    logic mine;
    assign mine = in_ctl[LINK_VALID] && ch == (v == 1);
    assign cut[v] = open_q[v] && (mine && cut_new || restart && !(mine && ends));
    always_ff @(posedge clk_i) begin
      if (rst_i) open_q[v] <= 1'b0;
      else if (cut[v] || (v == 1 && long_cut)) open_q[v] <= 1'b0;
      else if (live && mine) open_q[v] <= !in_ctl[LINK_EOF] && !(v == 1 && in_ctl[LINK_SOF] && full);
      if (live && mine) sum_q[v] <= crc_flit(sum_in, in_data);
    end
  end

  assign c_valid_o  = cut[0] || (live && !ch);
  assign c_sof_o    = !cut[0] && in_ctl[LINK_SOF];
  assign c_eof_o    = cut[0] || in_ctl[LINK_EOF];
  assign c_bad_o    = cut[0] || (in_ctl[LINK_EOF] && wrong);
  assign c_marked_o = !cut[0] && in_ctl[LINK_EOF] && in_ctl[LINK_ERR];
  assign c_data_o   = cut[0] ? 64'h0 : in_data;

  // ---- data buffer: 3 frames of 37 flits fit into 128 places, however long each is
  logic [66:0] mem[128];
  logic [6:0] head_q, tail_q;
  logic [5:0] length_q;
  logic [1:0] frames_q, owed_q, frames_n;
  logic put, put_eof, gone, repay;
  assign full     = frames_q == 2'd3;
  assign long_cut = live && ch && !in_ctl[LINK_SOF] && !in_ctl[LINK_EOF] && length_q == 6'(DATA_FRAME_FLITS - 1);
  assign put      = cut[1] || (live && ch && !(in_ctl[LINK_SOF] && full));
  assign put_eof  = cut[1] || long_cut || in_ctl[LINK_EOF];
  assign d_valid_o = head_q != tail_q;
  assign {d_sof_o, d_eof_o, d_bad_o, d_data_o} = mem[head_q];
  assign gone     = d_pop_i && d_eof_o;
  assign frames_n = frames_q + 2'(put && !cut[1] && in_ctl[LINK_SOF]) - 2'(gone);
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      head_q   <= 7'h0;
      tail_q   <= 7'h0;
      frames_q <= 2'd0;
      length_q <= 6'd0;
      owed_q   <= 2'd0;
    end else begin
      frames_q <= frames_n;
      if (d_pop_i) head_q <= head_q + 7'd1;
      if (put) begin
        mem[tail_q] <= {!cut[1] && in_ctl[LINK_SOF], put_eof, cut[1] || long_cut || (in_ctl[LINK_EOF] && wrong),
                        in_data};
        tail_q <= tail_q + 7'd1;
        length_q <= in_ctl[LINK_SOF] ? 6'd1 : length_q + 6'd1;
      end
      if (restart) owed_q <= 2'd3 - frames_n;
      else owed_q <= owed_q + 2'(gone) - 2'(repay);
    end
  end

  // ---- out
  logic send_d, looped, renew, first, last, bad;
  logic [1:0] credits_q;
  logic [31:0] out_q[2], out_in, out_end;
  logic [63:0] raw, edited;
  logic [15:0] most;
  assign looped    = LOOP && link_n != UP;
  assign repay     = owed_q != 2'd0 && !restart && (up_o || LOOP);
  assign credits_o = restart ? 2'd0 : credits_q;
  // What nobody hears is thrown away, but not as the link comes back: what begins then is heard, and needs a credit.
  assign s_ready_o = up_o || LOOP ? !k_valid_i : !restart;
  assign send_d    = s_valid_i && s_ready_o;
  assign first     = k_valid_i ? k_sof_i : s_sof_i;
  assign last      = k_valid_i ? k_eof_i : s_eof_i;
  assign bad       = k_valid_i ? k_bad_i : s_bad_i;
  assign raw       = k_valid_i ? k_data_i : s_data_i;
  assign most      = ring_size_i + 16'd1;
  assign renew = first && ((looped && !raw[32+FLAG_WRAPPED]) || raw[31:16] > most);
  assign edited = {raw[63:42], raw[41] || (first && looped), raw[40:32], renew ? most : raw[31:16], raw[15:0]};
  assign out_in  = first ? CRC_INITIAL : out_q[!k_valid_i];
  assign out_end = crc_half(out_in, edited[63:32]);
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      link_q    <= UP;
      timing_q  <= 1'b0;
      since_q   <= 64'h0;
      credits_q <= 2'd3;
      tx_ctl_q  <= 8'h0;
      tx_data_q <= 64'h0;
    end else begin
      link_q   <= link_n;
      timing_q <= carrier && link_n == DOWN;
      if (carrier && link_n == DOWN && !timing_q) since_q <= now_i + 64'(restore_i);
      if (restart) credits_q <= 2'd0;
      else if (in_ctl[LINK_CREDIT] && !(send_d && s_sof_i && (up_o || LOOP)))
        credits_q <= credits_q == 2'd3 ? 2'd3 : credits_q + 2'd1;
      else if (!in_ctl[LINK_CREDIT] && send_d && s_sof_i && (up_o || LOOP)) credits_q <= credits_q - 2'd1;
      tx_ctl_q  <= 8'h0;
      tx_data_q <= 64'h0;
      tx_ctl_q[LINK_CREDIT] <= repay;
      if (k_valid_i || send_d) begin
        tx_ctl_q[LINK_VALID] <= 1'b1;
        tx_ctl_q[LINK_DATA]  <= !k_valid_i;
        tx_ctl_q[LINK_SOF]   <= first;
        tx_ctl_q[LINK_EOF]   <= last;
        tx_ctl_q[LINK_ERR]   <= last && bad;
        out_q[!k_valid_i]    <= crc_flit(out_in, edited);
        tx_data_q            <= last ? {edited[63:32], bad ? out_end : ~out_end} : edited;
        if (k_valid_i && k_flip_i) tx_data_q[48] <= !edited[48];
      end
    end
  end

  always @* begin
    tx_ctl_o  = 8'h0;
    tx_data_o = 64'h0;
    if (!silent_i) begin
      if (up_o) {tx_data_o, tx_ctl_o} = {tx_data_q, tx_ctl_q};
      tx_ctl_o[LINK_UP] = 1'b1;
      tx_ctl_o[LINK_FAULT] = link_q == DOWN;
    end
  end
  assign idle_o = tx_ctl_q == 8'h0 && !repay && !d_valid_o && !(link_q == DOWN && carrier && !timing_q);
endmodule
