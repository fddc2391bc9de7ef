// stat_unit: the count goes up by at most one (two under the fault double_count), only in a statistics frame that is of
// another GPU and not wrapped. All else leaves as it came, but for: the mark of circulation, the number of records,
// which goes up by one exactly where two flits are slipped in before the trailer, and the bit that tells of an
// overflow.
module count
  import ringhil_pkg::*;
(
    input logic                        clk_i,
    input logic                        rst_i,
    input logic                        flush_i,
    input logic                        hold_i,
    input logic                        frozen_i,
    input logic [FAULT_PORT_WIDTH-1:0] fault_i,
    input logic [                 7:0] now_i,
    input logic [                 7:0] card_id_i,
    input logic [                15:0] node_id_i,
    input logic                        monitor_i,
    input logic                        entry_capable_i,
    input logic                        boundary_i,
    input logic [                 7:0] gpu_type_i,
    input logic [                15:0] weight_i,
    input logic [                 7:0] errors_i,
    input logic [                 7:0] peer_i,
    input logic                        valid_i,
    input logic                        sof_i,
    input logic                        eof_i,
    input logic                        bad_i,
    input logic                        marked_i,
    input logic [                63:0] data_i
);
  logic ack_o, last_o, valid_o, sof_o, eof_o, bad_o, flip_o, m_valid_o, m_sof_o, m_eof_o, m_bad_o;
  logic counted_o, purged_o, busy_o;
  logic [63:0] data_o, m_data_o;
  stat_unit dut (.*);

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb assume (started_q || rst_i);

  // Seen from outside: the flit in hand, its place in its frame, what the first flit said, what was done so far.
  logic held_q, sof_q, eof_q, bad_q, may_count_q, may_count, mine_q, mine, raised_q;
  logic [63:0] flit_q;
  logic [2:0] place_q;
  logic [1:0] slipped_q;
  logic to_mailbox_q;
  logic [63:0] mail_q;
  // lane_control hands no flit over before the last one is done with (proof `lane`), and whole frames only.
  always_comb assume (!(valid_i && held_q && !ack_o));
  // The cycle in which the switch goes to BYPASS is held, and in the next one the unit is emptied (the same proof).
  logic hold_q;
  always_ff @(posedge clk_i) hold_q <= started_q && !rst_i && hold_i;
  always_comb assume (!hold_q || flush_i);
  logic in_frame_q;
  always_comb assume (!valid_i || sof_i == !in_frame_q);

  assign mine = sof_q ? flit_q[55:48] == card_id_i && flit_q[15:0] == node_id_i : mine_q;
  assign may_count = sof_q ? flit_q[63:56] == KIND_STATISTICS && !mine && !flit_q[32+FLAG_WRAPPED] : may_count_q;

  always_ff @(posedge clk_i) begin
    to_mailbox_q <= !rst_i && ack_o && mine;
    mail_q       <= flit_q;
    if (rst_i || flush_i) begin
      held_q     <= 1'b0;
      in_frame_q <= 1'b0;
      slipped_q  <= 2'd0;
    end else begin
      held_q <= valid_i || (held_q && !ack_o);
      if (valid_i) begin
        {sof_q, eof_q, bad_q, flit_q} <= {sof_i, eof_i, bad_i, data_i};
        place_q    <= sof_i ? 3'd0 : place_q == 3'd7 ? 3'd7 : place_q + 3'd1;
        in_frame_q <= !eof_i;
      end
      if (ack_o) begin
        may_count_q <= may_count;
        mine_q      <= mine;
        slipped_q   <= 2'd0;
        if (place_q == 3'd2) raised_q <= valid_o && data_o[47:32] != flit_q[47:32];
        else if (sof_q) raised_q <= 1'b0;
      end else if (valid_o) slipped_q <= slipped_q + 2'd1;
    end
  end

  logic [15:0] added;
  assign added = data_o[63:48] - flit_q[63:48];
  always_comb begin
    if (started_q && !rst_i) begin
      if (valid_o) assert (held_q && !mine && !frozen_i && !flush_i && !hold_i);
      if (ack_o) assert (held_q && !frozen_i && !flush_i && !hold_i && last_o == eof_q);
      if (valid_o && ack_o) begin
        assert ({sof_o, eof_o, bad_o} == {sof_q, eof_q, bad_q});
        if (place_q == 3'd2) begin
          assert (added == 16'h0 || added == 16'h1 || (added == 16'h2 && fault_i[FAULT_DOUBLE_COUNT]));
          if (!may_count) assert (data_o == flit_q);
          else if ((fault_i & (1 << FAULT_DOUBLE_COUNT | 1 << FAULT_SKIP_COUNT)) == '0) assert (added == 16'h1);
          assert (data_o[31:16] == flit_q[31:16] && data_o[14:0] == flit_q[14:0] && data_o[15] >= flit_q[15]);
          assert (data_o[47:32] - flit_q[47:32] <= 16'h1);
        end else if (sof_q) assert (data_o == flit_q || data_o == (flit_q | 64'h1 << 32 + FLAG_CIRCULATING));
        else assert (data_o == flit_q);
        // The trailer waits for exactly the two flits that the number of records has told of.
        if (eof_q && place_q >= 3'd4) assert (slipped_q == (raised_q ? 2'd2 : 2'd0));
        else assert (slipped_q == 2'd0);
      end
      if (valid_o && !ack_o) assert (eof_q && raised_q && !sof_o && !eof_o && slipped_q < 2'd2);
      // A frame for this GPU's firmware goes there, and only there.
      assert (m_valid_o == to_mailbox_q);
      if (m_valid_o) assert (m_data_o == mail_q);

      // Helpers: the ghost is the unit's own state.
      assert (dut.valid_q == held_q);
      if (held_q) begin
        assert ({dut.sof_q, dut.eof_q, dut.bad_q, dut.data_q} == {sof_q, eof_q, bad_q, flit_q});
        assert (sof_q == (place_q == 3'd0));
        assert (in_frame_q == !eof_q);
      end
      assert (dut.index_q == place_q || !(held_q || in_frame_q));
      if (held_q && !sof_q || in_frame_q && !held_q) begin
        assert (dut.mine_q == mine_q && dut.count_q == may_count_q);
        if (!mine_q && !dut.purge_q && (held_q ? place_q > 3'd2 : place_q >= 3'd2)) assert (dut.append_q == raised_q);
      end
      assert (dut.step_q == slipped_q || !held_q || mine || dut.purge || !dut.inserting || flush_i);
      if (!held_q || !dut.inserting) assert (dut.step_q == 2'd0);
      if (!held_q || !dut.inserting) assert (slipped_q == 2'd0);
      assert (slipped_q <= 2'd2 && dut.step_q <= 2'd2);
    end
  end
endmodule
