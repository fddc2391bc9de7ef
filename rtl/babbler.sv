// The babbling fault of a GPU: while active_i, it sends statistics frames of its own without end, in both
// directions in turn. Well-formed but for the end-to-end CRC; they come home, or their TTL ends them.
module babbler
  import ringhil_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        active_i,
    input  logic [ 7:0] card_id_i,
    input  logic [15:0] node_id_i,
    input  logic [15:0] ring_size_i,
    input  logic [63:0] now_i,
    input  logic        ready_i,
    output logic        valid_o,
    output logic        sof_o,
    output logic        eof_o,
    output logic [ 1:0] port_o,
    output logic [63:0] data_o,
    output logic        open_o
);
  // The next flit.
  typedef enum logic [2:0] {
    HEADER,
    EPOCH,
    COUNTS,
    SENT_AT,
    TRAILER
  } place_e;
  place_e place_q, place_d;
  logic ccw_q;

  assign valid_o = active_i || open_o;
  assign sof_o   = place_q == HEADER;
  assign eof_o   = place_q == TRAILER;
  assign port_o  = {1'b0, ccw_q};
  assign open_o  = place_q != HEADER;

  always @* begin
    unique case (place_q)
      HEADER: data_o = {KIND_STATISTICS, card_id_i, 15'h0, ccw_q, ring_size_i + 16'h1, node_id_i};
      EPOCH: data_o = {32'h0, 32'hBABB1E00};
      COUNTS: data_o = {16'h1, 16'h0, ring_size_i, 16'h0};
      SENT_AT: data_o = now_i;
      default: data_o = 64'h0;
    endcase
  end

  always @* begin
    unique case (place_q)
      HEADER: place_d = EPOCH;
      EPOCH: place_d = COUNTS;
      COUNTS: place_d = SENT_AT;
      SENT_AT: place_d = TRAILER;
      default: place_d = HEADER;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      place_q <= HEADER;
      ccw_q   <= 1'b0;
    end else if (valid_o && ready_i) begin
      place_q <= place_d;
      if (eof_o) ccw_q <= !ccw_q;
    end
  end
endmodule
