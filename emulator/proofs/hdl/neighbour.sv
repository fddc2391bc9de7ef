// The far end of a link, with the medium: any traffic that the contract allows.
//
// - No carrier: nothing. Its own remote-fault mark: nothing but the levels.
// - Frames of each channel come whole, of any lengths, in any mixture, good and bad; after a loss of the carrier the
//   rest of the one that was under way may still come. None has one flit only: `ringhil rtl check` plays these.
// - A data frame begins with a credit, and a credit comes for a data frame that was taken. That is so while the link is
//   used without a break: where data frames are part of a claim, carriers stay (RINGHIL_NO_CUTS).
module ringhil_neighbour
  import ringhil_pkg::*;
(
    input  logic        clk_i,
    input  logic        ready_i,
    input  logic [63:0] data_i,    // what it would like to do
    input  logic [ 7:0] ctl_i,
    input  logic [ 7:0] tx_ctl_i,  // what the node sends
    output logic [63:0] data_o,
    output logic [ 7:0] ctl_o
);
  localparam logic [7:0] UP = 8'h1 << LINK_UP;
  localparam logic [2:0] SLOTS = 3'(DATA_SLOTS);
  logic used, valid, ch;
  logic [1:0] open_q, rest_q;  // a frame is under way; the rest of one that was cut may come
  logic [2:0] credits_q, held_q;  // for data frames to the node; data frames from the node that lie here
  logic credit;

`ifdef RINGHIL_NO_CUTS
  assign used = 1'b1;
`else
  assign used = ctl_i[LINK_UP] && !ctl_i[LINK_FAULT];
`endif
`ifdef RINGHIL_NO_DATA
  assign ch = 1'b0;
  assign credit = 1'b0;
`else
  assign ch = ctl_i[LINK_DATA];
  assign credit = used && ctl_i[LINK_CREDIT];
`endif
`ifdef RINGHIL_NO_CONTROL
  assign valid = ready_i && used && ctl_i[LINK_VALID] && ch;
`else
  assign valid = ready_i && used && ctl_i[LINK_VALID];
`endif

  always_comb begin
    data_o = valid ? data_i : 64'h0;
    ctl_o  = 8'h0;
    if (valid) begin
      ctl_o[LINK_VALID] = 1'b1;
      ctl_o[LINK_DATA]  = ch;
      ctl_o[LINK_SOF]   = ctl_i[LINK_SOF];
      ctl_o[LINK_EOF]   = ctl_i[LINK_EOF];
      ctl_o[LINK_ERR]   = ctl_i[LINK_EOF] && ctl_i[LINK_ERR];
    end
    ctl_o[LINK_CREDIT] = ready_i && credit;
`ifdef RINGHIL_NO_CUTS
    ctl_o[LINK_UP] = 1'b1;
`else
    ctl_o[LINK_UP]    = ctl_i[LINK_UP] || !ready_i;
    ctl_o[LINK_FAULT] = ready_i && ctl_i[LINK_UP] && ctl_i[LINK_FAULT];
`endif
  end

  logic begins, gets;
  assign begins = valid && ch && ctl_i[LINK_SOF];
  assign gets   = tx_ctl_i[LINK_VALID] && tx_ctl_i[LINK_DATA] && tx_ctl_i[LINK_SOF];
  always_ff @(posedge clk_i) begin
    if (!ready_i) begin
      open_q    <= 2'b00;
      rest_q    <= 2'b00;
      credits_q <= SLOTS;
      held_q    <= 3'd0;
    end else begin
      if (!used) begin
        rest_q <= rest_q | open_q;
        open_q <= 2'b00;
      end else if (valid) begin
        open_q[ch] <= !ctl_i[LINK_EOF] && (ctl_i[LINK_SOF] || open_q[ch]);
        if (ctl_i[LINK_SOF] || ctl_i[LINK_EOF]) rest_q[ch] <= 1'b0;
      end
      credits_q <= credits_q - 3'(begins) + 3'(tx_ctl_i[LINK_CREDIT]);
      held_q    <= held_q + 3'(gets) - 3'(credit);
    end
  end
  always_comb begin
    if (valid) begin
      assume (ctl_i[LINK_SOF] ? !open_q[ch] && !ctl_i[LINK_EOF] : open_q[ch] || rest_q[ch]);
      if (begins) assume (credits_q != 3'd0);
    end
    if (ready_i && credit) assume (held_q != 3'd0);
  end
endmodule
