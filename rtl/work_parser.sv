// Reads the work frames that arrive for a compute_engine, and says which segments can be trusted.
//
// A frame has four flits of header, payload, and a trailer. trailer_o is high with the last flit of a work frame, good_o
// when also both its CRCs are right and no flit of the header is missing. What the header says stays until the next
// frame. Frames of other kinds are passed over; so is everything while frozen_i.
module work_parser
  import ringhil_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        frozen_i,
    input  logic        valid_i,
    input  logic        sof_i,
    input  logic        eof_i,
    input  logic        bad_i,
    input  logic [63:0] data_i,
    // What the header says.
    output logic [63:0] unit_o,      // epoch 32 | unit 32
    output logic [15:0] source_o,
    output logic [ 7:0] card_o,      // of source_o
    output logic [15:0] attempt_o,
    output logic [15:0] segment_o,
    output logic [15:0] bytes_o,     // of this segment
    output logic [31:0] length_o,    // of the whole unit, bytes
    output logic [ 7:0] kind_o,
    output logic [15:0] context_o,
    output logic        last_o,      // the unit's last segment
    // Where in a frame data_i is.
    output logic        origin_o,    // the flit that names the source's card; the three before it have been read
    output logic        payload_o,
    output logic        trailer_o,
    output logic        good_o
);
  // What the next flit is, unless a frame begins or ends with it.
  typedef enum logic [1:0] {
    UNIT,
    SEGMENT,
    ORIGIN,
    PAYLOAD
  } place_e;
  place_e place_q, place_d;
  logic work_q, work_d;
  logic [31:0] e2e_q, length_q;
  logic [63:0] unit_q;
  logic [15:0] source_q, attempt_q, segment_q, bytes_q;
  logic [15:0] context_q;
  logic [7:0] card_q, kind_q;
  logic last_q;
  assign unit_o    = unit_q;
  assign source_o  = source_q;
  assign card_o    = card_q;
  assign attempt_o = attempt_q;
  assign segment_o = segment_q;
  assign bytes_o   = bytes_q;
  assign length_o  = length_q;
  assign kind_o    = kind_q;
  assign context_o = context_q;
  assign last_o    = last_q;

  logic body;
  assign body    = valid_i && work_q && !sof_i;
  assign origin_o  = body && !eof_i && place_q == ORIGIN;
  assign payload_o = body && !eof_i && place_q == PAYLOAD;
  assign trailer_o = body && eof_i;
  assign good_o    = trailer_o && !bad_i && place_q == PAYLOAD && ~e2e_q == data_i[63:32];

  always @* begin
    place_d = place_q;
    work_d  = work_q;
    if (valid_i) begin
      if (sof_i) begin
        place_d = UNIT;
        work_d  = data_i[63:56] == KIND_WORK;
      end else begin
        unique case (place_q)
          UNIT: place_d = SEGMENT;
          SEGMENT: place_d = ORIGIN;
          ORIGIN: place_d = PAYLOAD;
          default: place_d = place_q;
        endcase
      end
      if (eof_i) work_d = 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      place_q <= UNIT;
      work_q  <= 1'b0;
    end else if (!frozen_i) begin
      place_q <= place_d;
      work_q  <= work_d;
      if (valid_i && sof_i) begin
        last_q <= data_i[32+FLAG_LAST];
        e2e_q  <= crc_flit(CRC_INITIAL, data_i & E2E_FLIT0);
      end else if (body && !eof_i) begin
        e2e_q <= crc_flit(e2e_q, data_i);
        unique case (place_q)
          UNIT: unit_q <= data_i;
          SEGMENT: {source_q, attempt_q, segment_q, bytes_q} <= data_i;
          ORIGIN: {length_q, kind_q, card_q, context_q} <= data_i;
          default: ;
        endcase
      end
    end
  end
endmodule
