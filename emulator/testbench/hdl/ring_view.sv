// What goes over one end of a link, in words for a wave viewer; drives nothing.
//
// - link_event: what happens in this cycle. A credit that comes with a flit shows on `credit`.
// - c_*, d_*: the frame on the control and on the data channel: its kind and the fields of its first flit, from its
//   first flit to its last, also while the other channel has the link. NO_FRAME and zero between frames.
// A frame that is cut by the loss of the carrier ends there.
module ring_view
  import ringhil_pkg::*;
(
    input logic        clk_i,
    input logic [63:0] data_i,
    input logic [ 7:0] ctl_i
);
  typedef enum logic [7:0] {
    NO_FRAME        = 8'h00,
    STATISTICS      = KIND_STATISTICS,
    KEEPALIVE       = KIND_KEEPALIVE,
    ELECTION        = KIND_ELECTION,
    WORK            = KIND_WORK,
    RESULT          = KIND_RESULT,
    ACKNOWLEDGEMENT = KIND_ACKNOWLEDGEMENT,
    REPORT          = KIND_REPORT,
    UNKNOWN         = 8'hFF
  } kind_t;

  typedef enum logic [3:0] {
    IDLE     = 4'd0,
    DOWN     = 4'd1,   // no carrier
    FAULT    = 4'd2,   // the far end doesn't use the link
    CREDIT   = 4'd3,
    C_SOF    = 4'd4,
    C_BODY   = 4'd5,
    C_EOF    = 4'd6,
    C_BAD    = 4'd7,   // the end of a frame with the error mark
    C_SINGLE = 4'd8,   // first and last flit in one: no frame is that short
    D_SOF    = 4'd9,
    D_BODY   = 4'd10,
    D_EOF    = 4'd11,
    D_BAD    = 4'd12,
    D_SINGLE = 4'd13
  } event_t;

  // Nobody reads these but the wave file.
  /* verilator lint_off UNUSEDSIGNAL */
  event_t link_event;
  kind_t c_kind, d_kind;
  logic credit;
  logic [7:0] c_card, d_card;
  logic [15:0] c_flags, c_ttl, c_home, d_flags, d_ttl, d_home;
  /* verilator lint_on UNUSEDSIGNAL */

  // ------------------------------------------------------------------------------------------ frames, by channel
  logic [63:0] shown[2];
  logic [1:0] in_frame;
  for (genvar c = 0; c < 2; c++) begin : g_channel
    logic here, open, open_q;
    logic [63:0] first, first_q;

    assign here  = ctl_i[LINK_VALID] && ctl_i[LINK_DATA] == 1'(c);
    assign open  = open_q || (here && ctl_i[LINK_SOF]);
    assign first = here && ctl_i[LINK_SOF] ? data_i : first_q;

    // Without a reset: where a simulation begins, no frame is open.
    initial begin
      open_q  = 1'b0;
      first_q = 64'h0;
    end
    always_ff @(posedge clk_i) begin
      open_q  <= open && ctl_i[LINK_UP] && !(here && ctl_i[LINK_EOF]);
      first_q <= first;
    end

    assign in_frame[c] = open;
    assign shown[c] = open ? first : 64'h0;
  end

  logic [63:0] c_first, d_first;
  assign c_first = shown[0];
  assign d_first = shown[1];
  assign {c_card, c_flags, c_ttl, c_home} = c_first[55:0];
  assign {d_card, d_flags, d_ttl, d_home} = d_first[55:0];

  always_comb begin
    case (c_first[63:56])
      KIND_STATISTICS: c_kind = STATISTICS;
      KIND_KEEPALIVE: c_kind = KEEPALIVE;
      KIND_ELECTION: c_kind = ELECTION;
      KIND_WORK: c_kind = WORK;
      KIND_RESULT: c_kind = RESULT;
      KIND_ACKNOWLEDGEMENT: c_kind = ACKNOWLEDGEMENT;
      KIND_REPORT: c_kind = REPORT;
      default: c_kind = UNKNOWN;
    endcase
    if (!in_frame[0]) c_kind = NO_FRAME;
  end

  always_comb begin
    case (d_first[63:56])
      KIND_STATISTICS: d_kind = STATISTICS;
      KIND_KEEPALIVE: d_kind = KEEPALIVE;
      KIND_ELECTION: d_kind = ELECTION;
      KIND_WORK: d_kind = WORK;
      KIND_RESULT: d_kind = RESULT;
      KIND_ACKNOWLEDGEMENT: d_kind = ACKNOWLEDGEMENT;
      KIND_REPORT: d_kind = REPORT;
      default: d_kind = UNKNOWN;
    endcase
    if (!in_frame[1]) d_kind = NO_FRAME;
  end

  // -------------------------------------------------------------------------------------------------------- events
  assign credit = ctl_i[LINK_CREDIT];
  always_comb begin
    if (!ctl_i[LINK_UP]) link_event = DOWN;
    else if (ctl_i[LINK_VALID] && ctl_i[LINK_DATA]) begin
      if (ctl_i[LINK_SOF] && ctl_i[LINK_EOF]) link_event = D_SINGLE;
      else if (ctl_i[LINK_EOF] && ctl_i[LINK_ERR]) link_event = D_BAD;
      else if (ctl_i[LINK_EOF]) link_event = D_EOF;
      else if (ctl_i[LINK_SOF]) link_event = D_SOF;
      else link_event = D_BODY;
    end else if (ctl_i[LINK_VALID]) begin
      if (ctl_i[LINK_SOF] && ctl_i[LINK_EOF]) link_event = C_SINGLE;
      else if (ctl_i[LINK_EOF] && ctl_i[LINK_ERR]) link_event = C_BAD;
      else if (ctl_i[LINK_EOF]) link_event = C_EOF;
      else if (ctl_i[LINK_SOF]) link_event = C_SOF;
      else link_event = C_BODY;
    end else if (ctl_i[LINK_FAULT]) link_event = FAULT;
    else if (ctl_i[LINK_CREDIT]) link_event = CREDIT;
    else link_event = IDLE;
  end
endmodule
