// Where the frame at the head of a data buffer goes: on round the ring, to this GPU, to the CPU, to another
// card, or nowhere.
//
// | frame                              | from the ring          | from the CPU          | from another card       |
// |------------------------------------|------------------------|-----------------------|-------------------------|
// | home is this GPU, flag to_host     | CPU, if this is entry  | GPU                   | CPU, if this is entry   |
// | home is this GPU                   | GPU                    | GPU                   | GPU                     |
// | home is another GPU of this card   | on, TTL less one       | ring, lane by its flag| ring, ccw               |
// | for a card that this GPU speaks to | other card             | other card            | dropped (whence it came)|
// | for any other card                 | on, TTL less one       | ring, cw, if it has an| ring, ccw if it came    |
// |                                    |                        | exit (R8)             | from above, otherwise cw|
// | TTL used up                        | dropped                | dropped               |                         |
//
// From the CPU only the entry GPU takes frames, from another card only a boundary GPU; a bypassed GPU neither.
//
// No deadlock between cards: a frame goes cw in the ring where it starts and on its way up the tree of cards,
// ccw on its way down and in the ring where it ends, where it always sinks. So lanes wait for each other in one
// order only; for the same reason no frame leaves the ccw lane by a link from above. (A link that is no part of
// the tree counts as from above at both ends.) Where a wrap joins both lanes the order no longer holds: there a
// frame that waits for another card longer than PATIENCE cycles is dropped (stalled_o), and its sender's timer
// has it sent again.
//
// want_o has one bit a way out (WAY_*). The choice holds for the whole frame.
module data_route
  import ringhil_pkg::*;
#(
    parameter int FROM = PORT_P1  // the receiver: PORT_*
) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        bypassed_i,
    input  logic        entry_i,
    input  logic        boundary_i,
    input  logic        from_above_i,
    input  logic [15:0] crossings_i,
    input  logic [15:0] exits_i,
    input  logic [ 7:0] card_id_i,
    input  logic [15:0] node_id_i,
    input  logic [15:0] ring_size_i,
    input  logic        valid_i,
    input  logic        sof_i,
    input  logic        eof_i,
    input  logic [63:0] data_i,
    output logic        pop_o,
    output logic [ 4:0] want_o,
    output logic [63:0] data_o,
    input  logic [ 4:0] pop_i,
    output logic        dropped_o,
    output logic        expired_o,
    output logic        stalled_o
);
  localparam logic [11:0] PATIENCE = 12'd4000;

  logic open_q, home, mine, known, leaves, has_exit, expired, drop, stalled;
  logic [4:0] to_q, to;
  logic [11:0] waited_q;

  // Nothing is worked out while nothing is here.
  always @* begin
    {home, mine, expired, known, leaves, has_exit} = 6'h0;
    if (valid_i && !open_q) begin
      home     = data_i[55:48] == card_id_i;
      mine     = home && data_i[15:0] == node_id_i;
      expired  = FROM != PORT_BOUNDARY && data_i[31:16] == 16'h0;  // from another card it starts anew
      known    = !home && data_i[55:52] == 4'h0;
      leaves   = known && boundary_i && !bypassed_i && crossings_i[data_i[51:48]]
          && !(FROM == PORT_P2 && from_above_i && !data_i[32+FLAG_WRAPPED]);
      has_exit = known && exits_i[data_i[51:48]];
    end
  end

  // No bit set means: drop.
  always @* begin
    to = 5'b00000;
    if (!valid_i) to = 5'b00000;
    else if (open_q) to = to_q;
    else if (FROM == PORT_HOST) begin
      if (entry_i && !bypassed_i) begin
        if (mine) to[WAY_GPU] = 1'b1;
        else if (leaves) to[WAY_CARD] = 1'b1;
        else if (!expired && (home || has_exit)) begin
          if (home && data_i[32+FLAG_CCW]) to[WAY_CCW] = 1'b1;
          else to[WAY_CW] = 1'b1;
        end
      end
    end else if (FROM == PORT_BOUNDARY) begin
      if (boundary_i && !bypassed_i && data_i[32+CROSSINGS+:4] != MAX_CROSSINGS) begin
        if (mine) begin
          if (data_i[32+FLAG_TO_HOST]) to[WAY_HOST] = entry_i;
          else to[WAY_GPU] = 1'b1;
        end else if (home || from_above_i) to[WAY_CCW] = !leaves;
        else to[WAY_CW] = !leaves;
      end
    end else if (mine) begin
      if (!bypassed_i) begin
        if (!data_i[32+FLAG_TO_HOST]) to[WAY_GPU] = 1'b1;
        else to[WAY_HOST] = entry_i;
      end
    end else if (leaves) to[WAY_CARD] = 1'b1;
    else if (!expired) to[FROM == PORT_P2 ? WAY_CCW : WAY_CW] = 1'b1;
    // A frame of one flit has no room for a TTL beside its link CRC: it would circle for ever.
    if (stalled || (sof_i && eof_i)) to = 5'b00000;
  end

  always @* begin
    data_o = data_i;
    if (valid_i && !open_q && !mine) begin
      if (FROM == PORT_BOUNDARY) begin
        // A ring of its own: time to live and wraps start afresh.
        data_o[31:16] = ring_size_i + 16'h1;
        data_o[32+FLAG_WRAPPED] = 1'b0;
        data_o[32+CROSSINGS+:4] = data_i[32+CROSSINGS+:4] + 4'h1;
      end else data_o[31:16] = data_i[31:16] - 16'h1;
    end
  end

  assign stalled = !open_q && leaves && FROM != PORT_BOUNDARY && waited_q == PATIENCE;
  assign drop = valid_i && to == 5'b00000;
  assign want_o = to;
  assign pop_o = drop || pop_i != 5'b00000;
  assign stalled_o = drop && sof_i && stalled;
  assign dropped_o = drop && sof_i && !stalled && (mine || !expired);
  assign expired_o = drop && sof_i && !stalled && !mine && expired;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      open_q   <= 1'b0;
      waited_q <= 12'd0;
    end else begin
      if (pop_o) begin
        open_q <= !eof_i;
        to_q   <= to;
      end
      // Something waits here, so the node is awake and every cycle is counted.
      waited_q <= want_o[WAY_CARD] && !pop_o ? waited_q + 12'd1 : 12'd0;
    end
  end
endmodule
