// The medium between two ports, one direction: passes the link through unchanged, or spoils it.
//
//   cut_i       no carrier, nothing arrives
//   ber_i       of 65,536 flits, how many arrive with one data bit flipped (0: none)
//   delay_i     cycles that everything arrives later (0: none)
//
// Faults act in the cycle in which they are set. Without faults this is wire: no delay, no state change. A
// delay that ends or changes takes what is under way with it, so the carrier then drops for a cycle and both
// ends start afresh. busy_o: something is under way, or the carrier is about to return.
module link_channel
  import ringhil_pkg::*;
#(
    parameter logic [31:0] SEED = 32'h1
) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        cut_i,
    input  logic [15:0] ber_i,
    input  logic [ 5:0] delay_i,
    input  logic [63:0] data_i,
    input  logic [ 7:0] ctl_i,
    output logic [63:0] data_o,
    output logic [ 7:0] ctl_o,
    output logic        busy_o
);
  localparam logic [7:0] LEVELS = (8'h1 << LINK_UP) | (8'h1 << LINK_FAULT);

  // The delay line moves only while something is in it; an idle link stays quiescent. Its last delay_i
  // places are then idle, as they must be found at the next arrival.
  logic [71:0] line_q[64];
  logic [5:0] place_q, delay_q, left_q, age_q;
  logic [7:0] level_q, first_q;  // state of the link as last written; as it was when the delay began
  logic arriving, moving, changed, dropped_q;
  logic [63:0] late_data;
  logic [ 7:0] late_ctl;

  assign changed = delay_q != delay_i && delay_q != 6'h0;

  always @* begin
    arriving  = 1'b0;
    moving    = 1'b0;
    late_data = data_i;
    late_ctl  = ctl_i;
    if (delay_i != 6'h0) begin
      arriving  = ctl_i[LINK_VALID] || ctl_i[LINK_CREDIT] || (ctl_i & LEVELS) != level_q;
      moving    = arriving || left_q != 6'h0;
      late_data = 64'h0;
      late_ctl  = age_q == 6'h0 || age_q < delay_i ? first_q : level_q;
      if (left_q != 6'h0 && age_q >= delay_i) {late_data, late_ctl} = line_q[6'(place_q-delay_i)];
    end
    if (changed) late_ctl = 8'h0;
  end

  // Moves only with flits, so that a run repeats exactly.
  logic [31:0] lfsr_q;
  always @* begin
    data_o = late_data;
    ctl_o  = late_ctl;
    if (ber_i != 16'h0 && late_ctl[LINK_VALID] && lfsr_q[15:0] < ber_i)
      data_o = late_data ^ (64'h1 << lfsr_q[21:16]);
    if (cut_i) begin
      data_o = 64'h0;
      ctl_o  = 8'h0;
    end
  end
  assign busy_o = left_q != 6'h0 || delay_q != delay_i || dropped_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      lfsr_q    <= SEED;
      place_q   <= 6'h0;
      delay_q   <= 6'h0;
      left_q    <= 6'h0;
      age_q     <= 6'h0;
      level_q   <= 8'h0;
      first_q   <= 8'h0;
      dropped_q <= 1'b0;
    end else begin
      if (late_ctl[LINK_VALID] && ber_i != 16'h0)
        lfsr_q <= {lfsr_q[0] ^ lfsr_q[10] ^ lfsr_q[30] ^ lfsr_q[31], lfsr_q[31:1]};
      delay_q   <= delay_i;
      dropped_q <= changed;
      if (delay_i == 6'h0 || changed) begin
        left_q  <= 6'h0;
        age_q   <= 6'h0;
        level_q <= ctl_i & LEVELS;
        first_q <= ctl_i & LEVELS;
      end else if (moving) begin
        line_q[place_q] <= {data_i, ctl_i};
        place_q <= place_q + 6'h1;
        level_q <= ctl_i & LEVELS;
        left_q  <= arriving ? delay_i : left_q - 6'h1;
        if (age_q != 6'h3F) age_q <= age_q + 6'h1;
      end
    end
  end
endmodule
