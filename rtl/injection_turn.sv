// Fair turns between frames on their way round a ring and new ones that wait to enter it.
//
// A new frame needs two credits, one on its way only one, so behind a slow stretch of the ring the way would
// never be free for new ones. While one waits, those on their way are held back (hold_o) until the second credit
// comes, for at most LONGEST cycles at each frame: holding on would let every node of a full ring wait for the next.
module injection_turn #(
    parameter int LONGEST = 100
) (
    input  logic clk_i,
    input  logic rst_i,
    input  logic waiting_i,     // a new frame waits
    input  logic transit_ok_i,
    input  logic inject_ok_i,
    input  logic begin_i,       // a frame of either kind begins
    output logic hold_o
);
  logic [6:0] held_q;

  assign hold_o = waiting_i && transit_ok_i && !inject_ok_i && held_q != 7'(LONGEST);

  always_ff @(posedge clk_i) begin
    if (rst_i || begin_i) held_q <= 7'd0;
    else if (hold_o) held_q <= held_q + 7'd1;
  end
endmodule
