// The units of which a compute_engine has received only a part, one for each stream that work arrives by.
//
// Work from this card has a stream for each way in (from_i: clockwise lane, counter-clockwise lane, CPU, another card);
// work from another card has the stream of that card. What a stream has so far is looked up at origin_i, goes on with
// payload_i and is kept when the frame was good. A segment counts only when it is the next one of its unit:
// complete_o says so with good_i, and that nothing of the unit is missing. head_o has the first two flits of the unit.
// rst_i forgets all that has begun.
module work_streams
  import ringhil_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        frozen_i,
    input  logic [ 7:0] card_id_i,
    input  logic [ 1:0] from_i,
    input  logic [63:0] data_i,
    // From the parser.
    input  logic        origin_i,
    input  logic        payload_i,
    input  logic        good_i,
    input  logic [63:0] unit_i,
    input  logic [15:0] attempt_i,
    input  logic [15:0] segment_i,
    input  logic [15:0] bytes_i,
    input  logic [31:0] length_i,
    input  logic        last_i,
    output logic        complete_o,
    output logic [127:0] head_o,
    output logic [63:0] digest_o     // CRC-32 and sum of 32-bit words, over whole flits
);
  localparam int WAYS = 4;
  localparam int CARDS = 16;
  localparam int STREAMS = WAYS + CARDS;

  logic [63:0] at_unit_q[STREAMS];
  logic [15:0] at_attempt_q[STREAMS];
  logic [15:0] at_segment_q[STREAMS];
  logic [31:0] at_crc_q[STREAMS];
  logic [31:0] at_sum_q[STREAMS];
  logic [31:0] at_total_q[STREAMS];
  logic [127:0] at_head_q[STREAMS];
  logic [1:0] at_want_q[STREAMS];

  // The stream of the segment that is arriving, and what its unit comes to with this segment.
  logic [4:0] stream_q, stream;
  logic [31:0] crc_q, sum_q, total_q;
  logic [127:0] head_q;
  logic [1:0] want_q;  // flits of head_q that are still to come
  assign stream = data_i[23:16] == card_id_i ? {3'd0, from_i} : 5'(WAYS) + {1'b0, data_i[19:16]};

  logic begins, follows;
  assign begins = segment_i == 16'h0;
  assign follows = begins || (at_unit_q[stream_q] == unit_i && at_attempt_q[stream_q] == attempt_i
                   && at_segment_q[stream_q] == segment_i);
  assign complete_o = follows && total_q == length_i;
  assign digest_o = {~crc_q, sum_q};
  assign head_o = head_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      for (int i = 0; i < STREAMS; i++) at_segment_q[i] <= 16'h0;
    end else if (!frozen_i) begin
      if (origin_i) begin
        stream_q <= stream;
        crc_q    <= begins ? CRC_INITIAL : at_crc_q[stream];
        sum_q    <= begins ? 32'h0 : at_sum_q[stream];
        head_q   <= at_head_q[stream];
        want_q   <= begins ? 2'd2 : at_want_q[stream];
        total_q  <= (begins ? 32'h0 : at_total_q[stream]) + {16'h0, bytes_i};
      end
      if (payload_i) begin
        crc_q <= crc_flit(crc_q, data_i);
        sum_q <= sum_q + data_i[63:32] + data_i[31:0];
        if (want_q != 2'd0) begin
          head_q <= {head_q[63:0], data_i};
          want_q <= want_q - 2'd1;
        end
      end
      if (good_i && follows) begin
        at_unit_q[stream_q]    <= unit_i;
        at_attempt_q[stream_q] <= attempt_i;
        at_segment_q[stream_q] <= last_i ? 16'h0 : segment_i + 16'h1;
        at_crc_q[stream_q]     <= crc_q;
        at_sum_q[stream_q]     <= sum_q;
        at_total_q[stream_q]   <= total_q;
        at_head_q[stream_q]    <= head_q;
        at_want_q[stream_q]    <= want_q;
      end
    end
  end
endmodule
