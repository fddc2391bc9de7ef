// Makes a frame of a compute outcome (a result or a refusal) and sends it back the way the work came: out of
// the port that it came in by, so over the lane of the other direction, or to the CPU. For another card it
// goes clockwise (see data_route), or across at once where this GPU speaks to that card.
//
// Belongs to the switch, not to the GPU: once taken, a frame leaves whole even when the GPU then fails.
// One stream, offered on the way that to_o names (0 clockwise, 1 counter-clockwise, 2 CPU, 3 other card).
module result_tx
  import ringhil_pkg::*;
(
    input  logic                  clk_i,
    input  logic                  rst_i,
    input  logic                  bypassed_i,
    input  logic [           7:0] card_id_i,
    input  logic [          15:0] node_id_i,
    input  logic [          15:0] ring_size_i,
    input  logic                  valid_i,
    input  logic                  ack_i,
    input  logic [REPLY_BITS-1:0] reply_i,
    input  logic [          15:0] crossings_i,  // cards that this GPU speaks to
    input  logic [          15:0] status_i,
    input  logic [           7:0] queued_i,
    input  logic [          63:0] digest_i,
    input  logic [          31:0] length_i,
    input  logic [          31:0] cycles_i,
    output logic                  take_o,
    output logic                  valid_o,
    output logic                  sof_o,
    output logic                  eof_o,
    output logic [          63:0] data_o,
    output logic [           1:0] to_o,
    input  logic                  pop_i
);
  logic active_q, ack_q;
  // The next flit. A refusal has no digest and no cost.
  typedef enum logic [2:0] {
    HEADER,
    UNIT,
    STATE,
    DIGEST,
    COST,
    TRAILER
  } place_e;
  place_e place_q, place_d;
  logic [1:0] to_q, to_d;
  logic [63:0] unit_q, state_q, digest_q, cost_q;
  logic [15:0] home_q;
  logic [ 7:0] card_q;
  logic [31:0] e2e_q;
  logic [15:0] attempt;
  logic [ 7:0] home_card;
  logic [ 1:0] from;
  assign attempt   = reply_i[REPLY_ATTEMPT+:REPLY_ATTEMPT_BITS];
  assign home_card = reply_i[REPLY_CARD+:REPLY_CARD_BITS];
  assign from      = reply_i[REPLY_FROM+:REPLY_FROM_BITS];

  assign take_o  = valid_i && !active_q && !bypassed_i;
  assign valid_o = active_q;
  assign sof_o   = place_q == HEADER;
  assign eof_o   = place_q == TRAILER;
  assign to_o    = to_q;

  always @* begin
    unique case (place_q)
      HEADER: begin
        data_o = {ack_q ? KIND_ACKNOWLEDGEMENT : KIND_RESULT, card_q, 16'h0, ring_size_i + 16'h1, home_q};
        data_o[32+FLAG_TO_HOST] = 1'b1;
        data_o[32+FLAG_CCW] = to_q == 2'(WAY_CCW);
      end
      UNIT: data_o = unit_q;
      STATE: data_o = state_q;
      DIGEST: data_o = digest_q;
      COST: data_o = cost_q;
      default: data_o = {~e2e_q, 32'h0};
    endcase
  end

  always @* begin
    unique case (place_q)
      HEADER: place_d = UNIT;
      UNIT: place_d = STATE;
      STATE: begin
        place_d = DIGEST;
        if (ack_q) place_d = TRAILER;
      end
      DIGEST: place_d = COST;
      COST: place_d = TRAILER;
      default: place_d = HEADER;
    endcase
  end

  // Back the way the work came.
  always @* begin
    if (home_card != card_id_i) begin
      to_d = 2'(WAY_CW);
      if (home_card[7:4] == 4'h0 && crossings_i[home_card[3:0]]) to_d = 2'(WAY_CARD);
    end else begin
      unique case (from)
        2'(PORT_P1): to_d = 2'(WAY_CCW);
        2'(PORT_P2): to_d = 2'(WAY_CW);
        default: to_d = from;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      active_q <= 1'b0;
      place_q  <= HEADER;
    end else if (take_o) begin
      active_q <= 1'b1;
      place_q  <= HEADER;
      ack_q    <= ack_i;
      unit_q   <= reply_i[REPLY_UNIT+:REPLY_UNIT_BITS];
      state_q  <= {node_id_i, attempt, status_i, card_id_i, queued_i};
      digest_q <= digest_i;
      cost_q   <= {length_i, cycles_i};
      home_q   <= reply_i[REPLY_HOME+:REPLY_HOME_BITS];
      card_q   <= home_card;
      to_q     <= to_d;
    end else if (pop_i) begin
      active_q <= !eof_o;
      place_q  <= place_d;
      e2e_q    <= crc_flit(sof_o ? CRC_INITIAL : e2e_q, sof_o ? data_o & E2E_FLIT0 : data_o);
    end
  end

`ifndef SYNTHESIS
  // Nothing is taken out of nothing.
  always @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!pop_i || active_q)
      else $fatal(1, "a flit is taken that isn't there");
    end
  end
`endif
endmodule
