// Both ends of a link, each a whole port_rx with its link_tx, and a wire each way that may be cut in any cycle: while
// both ends are active, a sender's credits, the frames under way, those in the receiver's buffer, what the receiver
// owes and the credits under way are 3 together. So no data frame finds the buffer full. RING_PORT: the ends hear
// themselves while they aren't active, and the same sum holds of each alone.
//
// Traffic is any in any state. restore_i is at least a round trip (4 cycles on these wires), constant, else any.
module pair
  import ringhil_pkg::*;
(
    input logic        clk_i,
    input logic        rst_i,
    input logic [63:0] now_i,
    input logic [31:0] restore_i,
    input logic [ 1:0] cut_i,
    input logic [ 1:0] c_valid_i,  // a control flit takes the wire
    input logic [ 1:0] c_sof_i,
    input logic [ 1:0] d_valid_i,
    input logic [ 1:0] d_eof_i,
    input logic [ 1:0] pop_i
);
  logic [63:0] tx_data[2], rx_data[2], heard_data[2];
  logic [7:0] tx_ctl[2], rx_ctl[2], heard_ctl[2];
  logic [1:0] start, ready, transit, inject, loops, credit, fault, active, d_valid, d_eof, open_q;
`ifdef RING_PORT
  localparam bit LOOP = 1'b1;
`else
  localparam bit LOOP = 1'b0;
`endif
  for (genvar e = 0; e < 2; e++) begin : g_end
    assign rx_data[e] = cut_i[e] ? 64'h0 : tx_data[1-e];
    assign rx_ctl[e]  = cut_i[e] ? 8'h0 : tx_ctl[1-e];
    port_rx #(.LOOP(LOOP)) u_rx (
        .clk_i, .rst_i, .now_i, .restore_i, .rx_data_i(rx_data[e]), .rx_ctl_i(rx_ctl[e]), .tx_data_i(heard_data[e]),
        .tx_ctl_i(heard_ctl[e]), .c_valid_o(), .c_sof_o(), .c_eof_o(), .c_bad_o(), .c_marked_o(), .c_data_o(),
        .d_pop_i(pop_i[e]), .d_valid_o(d_valid[e]), .d_sof_o(), .d_eof_o(d_eof[e]), .d_bad_o(), .d_data_o(),
        .start_i(start[e]), .transit_ok_o(transit[e]), .inject_ok_o(inject[e]), .credit_o(credit[e]),
        .fault_o(fault[e]), .active_o(active[e]), .loop_o(loops[e]), .down_o(), .waiting_o(), .wake_at_o(),
        .level_o(), .busy_o()
    );
    link_tx u_tx (
        .clk_i, .rst_i, .loop_i(loops[e]), .active_i(active[e]), .silent_i(1'b0), .ring_size_i(16'h8),
        .c_valid_i(c_valid_i[e]), .c_sof_i(c_sof_i[e]), .c_eof_i(1'b0), .c_bad_i(1'b0), .c_flip_i(1'b0),
        .c_data_i(64'h0), .d_valid_i(d_valid_i[e]), .d_sof_i(!open_q[e]), .d_eof_i(d_eof_i[e]), .d_bad_i(1'b0),
        .d_data_i(64'h0),
        .d_ready_o(ready[e]), .credit_i(credit[e]), .fault_i(fault[e]), .data_o(tx_data[e]), .ctl_o(tx_ctl[e]),
        .heard_data_o(heard_data[e]), .heard_ctl_o(heard_ctl[e]), .busy_o()
    );
    assign start[e] = d_valid_i[e] && ready[e] && !open_q[e];
    always_ff @(posedge clk_i) begin
      if (rst_i) open_q[e] <= 1'b0;
      else if (d_valid_i[e] && ready[e]) open_q[e] <= !d_eof_i[e];
    end
    always_comb begin
      assume (!(d_valid_i[e] && !open_q[e]) || transit[e]);  // the arbiter begins with a credit
      assume (!pop_i[e] || d_valid[e]);
    end
  end

  // A data frame whose first flit is on the wire.
  function automatic logic [3:0] begun(input logic [7:0] ctl);
    begun = 4'(ctl[LINK_VALID] && ctl[LINK_DATA] && ctl[LINK_SOF]);
  endfunction

  logic started_q = 1'b0;
  logic [31:0] restore_q;
  logic [63:0] now_q;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!started_q) restore_q <= restore_i;
    now_q <= now_i;
  end
  always_comb begin
    assume (started_q != rst_i);
    assume (restore_i >= 32'd4 && (!started_q || restore_i == restore_q));
    assume (!now_i[63] && (!started_q || now_i == now_q + 64'd1));
  end

  for (genvar e = 0; e < 2; e++) begin : g_way
    logic [3:0] held, across, alone;  // held: at the receiver e; across: from the far end to e; alone: from e to itself
    assign held   = 4'(g_end[e].u_rx.u_fifo.frames_q) + 4'(g_end[e].u_rx.u_fifo.owed_q);
    assign across = 4'(g_end[1-e].u_rx.u_credits.credits_q) + begun(tx_ctl[1-e]) + held + 4'(tx_ctl[e][LINK_CREDIT]);
    assign alone  = 4'(g_end[e].u_rx.u_credits.credits_q) + begun(heard_ctl[e]) + held + 4'(heard_ctl[e][LINK_CREDIT]);
    // What e hears, if anybody, and whether that one's frame is open.
    logic hears, sender_open;
    logic [7:0] ctl;
    assign hears       = LOOP && !active[e] || active == 2'b11;
    assign sender_open = active[e] ? open_q[1-e] : open_q[e];
    assign ctl         = active[e] ? tx_ctl[1-e] : heard_ctl[e];
    // The buffer counts each frame that it holds (proof `buffer`).
    always_comb assume (!g_end[e].u_rx.u_fifo.leave || g_end[e].u_rx.u_fifo.frames_q != 3'd0);
    always_comb begin
      if (started_q) begin
        if (active == 2'b11) assert (across == 4'd3);
        if (LOOP && !active[e]) assert (alone == 4'd3);
        assert (g_end[e].u_rx.u_credits.credits_q <= 3'd3);
        assert (g_end[e].u_rx.u_fifo.frames_q <= 3'd3 && g_end[e].u_rx.u_fifo.owed_q <= 3'd3 && held <= 4'd3);
        assert (!g_end[e].u_rx.u_fifo.valid_i || !g_end[e].u_rx.u_fifo.sof_i || g_end[e].u_rx.u_fifo.accept);
        assert (!inject[e] || transit[e]);
        // What a port hears itself is marked as turned round, and nothing else.
        if (heard_ctl[e][LINK_SOF]) assert (heard_data[e][32+FLAG_WRAPPED] == (LOOP && !active[e]));

        // Helpers. The fault mark goes on in the second cycle in which an end is DOWN, and off with the first flit.
        assert (heard_ctl[e][LINK_UP] && g_end[e].u_rx.u_state.state_q != 2'd3);
        if (active[e]) assert (!heard_ctl[e][LINK_FAULT]);
        if (g_end[e].u_rx.u_state.timing_q) assert (fault[e] && heard_ctl[e][LINK_FAULT]);
        // The far end has heard of it before this one can be READY again.
        if (g_end[e].u_rx.u_state.timing_q && active[1-e]) assert (g_end[e].u_rx.u_state.at_q > now_i);
        // So if one end is active and the other READY, the one has just become so: without credit, and owing all.
        if (active[e] && !active[1-e] && !fault[1-e]) begin
          assert (g_end[e].u_rx.u_credits.credits_q == 3'd0 && begun(heard_ctl[e]) == 4'd0);
          assert (held == 4'd3 && !heard_ctl[e][LINK_CREDIT] && !g_end[e].u_rx.u_data.open_q);
        end
        // A frame is open at the receiver only if it is at the sender, so no beginning is taken for a cut.
        if (hears && begun(ctl) != 4'd0) assert (!g_end[e].u_rx.u_data.open_q && (sender_open || ctl[LINK_EOF]));
        if (hears && g_end[e].u_rx.u_data.open_q && !(ctl[LINK_VALID] && ctl[LINK_DATA] && ctl[LINK_EOF]))
          assert (sender_open);
      end
    end
  end
endmodule
