// Makes a frame of a compute outcome (a result or a refusal) and sends it back the way the work came: out of
// the port that it came in by, so over the lane of the other direction, or to the CPU. For another card it
// goes clockwise (see data_route), or across at once where this GPU speaks to that card.
//
// Belongs to the switch, not to the GPU: once taken, a frame leaves whole even when the GPU then fails.
// One stream, offered on the way that to_o names (0 clockwise, 1 counter-clockwise, 2 CPU, 3 other card).
module result_tx
  import ringhil_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        bypassed_i,
    input  logic [ 7:0] card_id_i,
    input  logic [15:0] node_id_i,
    input  logic [15:0] ring_size_i,
    input  logic        valid_i,
    input  logic        ack_i,
    input  logic [63:0] unit_i,
    input  logic [15:0] home_i,
    input  logic [ 7:0] home_card_i,
    input  logic [15:0] crossings_i,  // cards that this GPU speaks to
    input  logic [15:0] attempt_i,
    input  logic [15:0] status_i,
    input  logic [ 7:0] queued_i,
    input  logic [63:0] digest_i,
    input  logic [31:0] length_i,
    input  logic [31:0] cycles_i,
    input  logic [ 1:0] from_i,
    output logic        take_o,
    output logic        valid_o,
    output logic        sof_o,
    output logic        eof_o,
    output logic [63:0] data_o,
    output logic [ 1:0] to_o,
    input  logic        pop_i
);
  logic active_q, ack_q;
  logic [2:0] index_q;
  logic [63:0] unit_q, state_q, digest_q, cost_q;
  logic [15:0] home_q;
  logic [ 7:0] card_q;
  logic [31:0] e2e_q;

  assign take_o  = valid_i && !active_q && !bypassed_i;
  assign valid_o = active_q;
  assign sof_o   = index_q == 3'd0;
  assign eof_o   = index_q == 3'd5;

  always @* begin
    unique case (index_q)
      3'd0: begin
        data_o = {ack_q ? KIND_ACKNOWLEDGEMENT : KIND_RESULT, card_q, 16'h0, ring_size_i + 16'h1, home_q};
        data_o[32+FLAG_TO_HOST] = 1'b1;
        data_o[32+FLAG_CCW] = to_o == 2'd1;
      end
      3'd1: data_o = unit_q;
      3'd2: data_o = state_q;
      3'd3: data_o = digest_q;
      3'd4: data_o = cost_q;
      default: data_o = {~e2e_q, 32'h0};
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      active_q <= 1'b0;
      index_q  <= 3'd0;
    end else if (take_o) begin
      active_q <= 1'b1;
      index_q  <= 3'd0;
      ack_q    <= ack_i;
      unit_q   <= unit_i;
      state_q  <= {node_id_i, attempt_i, status_i, card_id_i, queued_i};
      digest_q <= digest_i;
      cost_q   <= {length_i, cycles_i};
      home_q   <= home_i;
      card_q   <= home_card_i;
      if (home_card_i != card_id_i)
        to_o <= home_card_i[7:4] == 4'h0 && crossings_i[home_card_i[3:0]] ? 2'd3 : 2'd0;
      else to_o <= from_i == 2'd0 ? 2'd1 : from_i == 2'd1 ? 2'd0 : from_i;
    end else if (pop_i) begin
      active_q <= !eof_o;
      // A refusal ends after three flits and its trailer.
      index_q  <= ack_q && index_q == 3'd2 ? 3'd5 : index_q + 3'd1;
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
