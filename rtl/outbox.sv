// From the GPU's firmware to the wire: frames written flit by flit into the mailbox go, whole and past the
// guardian, into the queue of the port that they name (0 clockwise, 1 counter-clockwise, 2 CPU, 3 other card).
//
// A frame that the guardian stops is swallowed; a keepalive too while lose_i is high. A babbling GPU (babble_i) takes
// over the mailbox: what its firmware writes meanwhile is lost. A GPU that is frozen writes nothing; one that is
// bypassed writes into the void.
module outbox
  import ringhil_pkg::*;
#(
    parameter bit FAULTS = 1'b1  // 0: no babbler
) (
    input  logic         clk_i,
    input  logic         rst_i,
    input  logic         frozen_i,
    input  logic         babble_i,
    input  logic         lose_i,
    input  logic [  3:0] clear_i,
    input  logic [  7:0] card_id_i,
    input  logic [ 15:0] node_id_i,
    input  logic [ 15:0] ring_size_i,
    input  logic [ 63:0] now_i,
    input  logic [ 31:0] allowance_i,
    input  logic [ 31:0] period_i,
    input  logic         m_valid_i,
    input  logic         m_sof_i,
    input  logic         m_eof_i,
    input  logic [  1:0] m_port_i,
    input  logic [ 63:0] m_data_i,
    output logic         m_ready_o,
    output logic         muted_o,
    output logic         mute_o,
    output logic [ 63:0] wake_at_o,
    output logic [  3:0] valid_o,
    output logic [  3:0] sof_o,
    output logic [  3:0] eof_o,
    output logic [255:0] data_o,
    input  logic [  3:0] pop_i,
    output logic         busy_o
);
  logic b_valid, b_sof, b_eof, b_open, b_ready;
  logic [ 1:0] b_port;
  logic [63:0] b_data;
  logic writing_q, writing_d, drop_q, drop_d, pass_q, pass_d, babbling, in_vain;

  assign babbling = (babble_i || b_open) && !writing_q && !frozen_i;

  if (FAULTS) begin : g_faults
    babbler u_babbler (
        .clk_i,
        .rst_i,
        .active_i(babble_i && !writing_q && !frozen_i),
        .card_id_i,
        .node_id_i,
        .ring_size_i,
        .now_i,
        .ready_i(b_ready),
        .valid_o(b_valid),
        .sof_o(b_sof),
        .eof_o(b_eof),
        .port_o(b_port),
        .data_o(b_data),
        .open_o(b_open)
    );
  end else begin : g_no_faults
    logic unused_ok;
    assign unused_ok = &{card_id_i, node_id_i, ring_size_i, b_ready};
    assign {b_valid, b_sof, b_eof, b_open, b_port, b_data} = '0;
  end

  logic valid, sof, eof, pass, ready, lost, wanted;
  logic [ 1:0] port;
  logic [63:0] data;
  logic [ 3:0] space, push, queue_busy;
  assign in_vain = babbling || (drop_q && !m_sof_i);
  assign valid = !frozen_i && (babbling ? b_valid : m_valid_i && !in_vain);
  assign sof   = babbling ? b_sof : m_sof_i;
  assign eof   = babbling ? b_eof : m_eof_i;
  assign port  = babbling ? b_port : m_port_i;
  assign data  = babbling ? b_data : m_data_i;
  assign lost  = lose_i && !babbling && data[63:56] == KIND_KEEPALIVE;
  assign wanted = pass && !lost;
  assign ready = space[port];
  assign b_ready = babbling && ready;
  // A frame that the firmware has begun is finished first, even by a GPU that begins to babble.
  assign m_ready_o = !frozen_i && (babbling || drop_q || space == 4'b1111);

  guardian u_guardian (
      .clk_i,
      .rst_i,
      .now_i,
      .allowance_i,
      .period_i,
      .begin_i(valid && ready && sof),
      .pass_o (pass),
      .muted_o,
      .mute_o,
      .wake_at_o
  );

  always @* begin
    push = 4'b0000;
    if (valid && ready && (sof ? wanted : pass_q)) push[port] = 1'b1;
  end

  for (genvar p = 0; p < 4; p++) begin : g_port
    // A frame of which the first flit has gone is sent to its end: whoever takes it waits for that. On the ring the
    // switch waits, too; to the CPU and to another card nothing does.
    localparam bit RING = p < 2;
    logic leaving_q, leaving_d, clear;
    assign clear = clear_i[p] && (RING || !(valid_o[p] && leaving_d));
    assign leaving_d = pop_i[p] ? !eof_o[p] : leaving_q;
    always_ff @(posedge clk_i) begin
      if (rst_i) leaving_q <= 1'b0;
      else leaving_q <= leaving_d;
    end

    // A report to the CPU with the sets of a ring of 1,024 is the longest that a GPU sends.
    frame_queue #(
        .LOG2(p == 2 ? 6 : 5)
    ) u_queue (
        .clk_i,
        .rst_i,
        .clear_i(clear),
        .push_i (push[p]),
        .sof_i  (sof),
        .eof_i  (eof),
        .data_i (data),
        .ready_o(space[p]),
        .pop_i  (pop_i[p]),
        .valid_o(valid_o[p]),
        .sof_o  (sof_o[p]),
        .eof_o  (eof_o[p]),
        .data_o (data_o[64*p+:64]),
        .busy_o (queue_busy[p])
    );
  end

  assign busy_o = queue_busy != 4'b0000 || babbling;

  always @* begin
    writing_d = writing_q;
    drop_d    = drop_q;
    pass_d    = pass_q;
    if (valid && ready && sof) pass_d = wanted;
    // Firmware writes in vain; the babbler may write in the same cycle.
    if (m_valid_i && !frozen_i && in_vain) drop_d = !m_eof_i;
    else if (valid && ready && !babbling) begin
      writing_d = !eof;
      drop_d    = 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      writing_q <= 1'b0;
      drop_q    <= 1'b0;
      pass_q    <= 1'b0;
    end else begin
      writing_q <= writing_d;
      drop_q    <= drop_d;
      pass_q    <= pass_d;
    end
  end

`ifndef SYNTHESIS
  // One flit a cycle goes where there is room for it, from firmware or from the babbler, never from a muted GPU that
  // begins a frame; what is swallowed goes nowhere.
  always @(posedge clk_i) begin
    if (!rst_i) begin
      assert ((push & ~space) == 4'h0)
      else $fatal(1, "a flit goes into a full queue");
      assert ((push & (push - 4'h1)) == 4'h0)
      else $fatal(1, "a flit goes into two queues");
      assert (push == 4'h0 || !sof || !muted_o)
      else $fatal(1, "a muted GPU begins a frame");
      assert (!writing_q || (!drop_q && !b_open))
      else $fatal(1, "two frames are written at once");
    end
  end
`endif
endmodule
