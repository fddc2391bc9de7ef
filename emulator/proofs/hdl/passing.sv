// A frame that passes by leaves as it came: the same flags, flit for flit the same, none more and none less. But
// - a ring port may set the wrapped flag; a frame that enters the ring from another card comes without it, with one more
//   crossing; in a statistics frame the mark of circulation may be set;
// - the third flit of a statistics frame that didn't come wrapped has its count (claim `count`); where it carries
//   records, their number goes up by one at most, or the overflow bit is set, and two flits may stand before the trailer;
// - the link CRC is the node's own, and a frame that ends bad may end early.
// Flits behind the first are compared at one place, any. A corrupt GPU is left out.
module ringhil_claim_passing
  import ringhil_pkg::*;
(
    `include "claim_ports.svh"
);
  localparam logic [15:0] WRAPPED = 16'h1 << FLAG_WRAPPED;
  localparam logic [15:0] CIRCULATING = 16'h1 << FLAG_CIRCULATING;
  localparam logic [63:0] COUNTED = 64'hFFFF_0000_0000_0000;  // changes of the third flit: the count
  localparam logic [63:0] LISTED = 64'hFFFF_FFFF_0000_8000;  // and the number of records, the overflow bit
  logic came, came_q;
  logic [2:0] from;
  logic [63:0] first;
  logic [3:0] begins;
  ringhil_watched u_watched (.*, .came_o(came), .from_o(from), .first_o(first), .begins_o(begins));

  // As it came, up to this cycle: the flit at place where_i, and where it ended with what end-to-end CRC.
  logic [63:0] data, had, had_q;
  logic [31:0] tail, tail_q;
  logic [7:0] ctl, place, place_q, last, last_q;
  logic comes, open_q, ch, ch_q, known, known_q, ended, ended_q;
  assign ctl   = rx_ctl_i[from[1:0]];
  assign data  = rx_data_i[from[1:0]];
  assign ch    = came_q ? ch_q : ctl[LINK_DATA];
  assign place = came_q ? place_q : 8'd0;
  assign comes = ready_i && came && !from[2]
      && (!came_q || (open_q && ctl[LINK_VALID] && ctl[LINK_DATA] == ch && ctl[LINK_UP] && !ctl[LINK_FAULT]));
  always_comb begin
    {known, had, ended, last, tail} = {known_q, had_q, ended_q, last_q, tail_q};
    if (comes && ctl[LINK_EOF]) {ended, last, tail} = {1'b1, place, data[63:32]};
    else if (comes && place == where_i) {known, had} = {1'b1, data};
  end
  always_ff @(posedge clk_i) begin
    came_q  <= ready_i && came;
    ch_q    <= ch;
    known_q <= ready_i && known;
    ended_q <= ready_i && ended;
    {had_q, last_q, tail_q} <= {had, last, tail};
    if (comes) {open_q, place_q} <= {!ctl[LINK_EOF], place + 8'd1};
    else if (!ctl[LINK_UP] || ctl[LINK_FAULT]) open_q <= 1'b0;
  end

  logic statistics, records;
  logic [15:0] flags;
  logic [63:0] third, may;  // what may change
  assign statistics = first[63:56] == KIND_STATISTICS;
  assign flags = first[47:32];
  assign records = statistics && flags[FLAG_WITH_RECORDS] && !flags[FLAG_WRAPPED];
  assign third = !statistics || flags[FLAG_WRAPPED] ? 64'h0 : records ? LISTED : COUNTED;
  assign may   = where_i == 8'd2 ? third : 64'h0;

  for (genvar p = 0; p < 4; p++) begin : g_port
    logic [63:0] now;
    logic [15:0] has, crossed;
    logic [7:0] out, at, at_q;
    logic leaves, leaving_q;
    assign out = tx_ctl_i[p];
    assign now = tx_data_i[p];
    assign has = now[47:32];
    assign at  = out[LINK_SOF] ? 8'd0 : at_q;
    assign leaves = ready_i && came && !from[2] && out[LINK_VALID] && out[LINK_DATA] == ch
        && (out[LINK_SOF] ? begins[p] : leaving_q);
    assign crossed = from == 3'(PORT_BOUNDARY) && p < 2 ? (flags & ~WRAPPED) + (16'h1 << CROSSINGS) : flags;
    always_ff @(posedge clk_i) begin
      if (!ready_i || !out[LINK_UP] || out[LINK_FAULT]) leaving_q <= 1'b0;
      else if (out[LINK_VALID] && out[LINK_DATA] == ch) begin
        leaving_q <= leaves && !out[LINK_EOF];
        at_q      <= at + 8'd1;
      end
    end
    always_comb begin
      if (leaves && at == 8'd0) begin
        flags_kept: assert ((has & ~crossed & ~((p < 2 ? WRAPPED : 16'h0) | (statistics ? CIRCULATING : 16'h0))) == 16'h0);
        flags_lost: assert ((~has & crossed) == 16'h0);
      end else if (leaves && out[LINK_EOF] && !out[LINK_ERR]) begin
        length: assert (ended && (at == last || (records && at == last + 8'd2)));
        trailer: assert (((now[63:32] ^ tail) & ~(last == 8'd2 ? third[63:32] : 32'h0)) == 32'h0);
      end else if (leaves && !out[LINK_EOF] && at == where_i) begin
        if (!known) added: assert (ended && records && at - last < 8'd2);
        else begin
          payload: assert (((now ^ had) & ~may) == 64'h0);
          listed: assert (now[47:32] - had[47:32] <= 16'h1 && now[15] >= had[15] || may != LISTED);
        end
      end
    end
  end
  always_comb if (ready_i) assume (!fault_i[FAULT_CORRUPT]);
endmodule
