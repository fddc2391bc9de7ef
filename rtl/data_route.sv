// Where the frame at the head of a data buffer goes: on round the ring, to this GPU, to the CPU, or nowhere.
//
// | frame                                        | from the ring              | from the CPU            |
// |----------------------------------------------|----------------------------|-------------------------|
// | home is this GPU, flag to_host               | CPU, when this is the entry| GPU                     |
// | home is this GPU                             | GPU                        | GPU                     |
// | any other                                    | on, TTL less one           | ring, lane by its flag  |
// | GPU bypassed and named as home; TTL used up  | dropped                    | dropped                 |
// | from the CPU, and this is not the entry      |                            | dropped                 |
//
// want_o has one bit a way out: clockwise, counter-clockwise, CPU, GPU. The choice holds for the whole frame.
module data_route
  import ringhil_pkg::*;
#(
    parameter bit FROM_CPU = 1'b0,
    parameter bit CCW = 1'b0  // the lane that the buffer belongs to
) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        bypassed_i,
    input  logic        entry_i,
    input  logic [ 7:0] card_id_i,
    input  logic [15:0] node_id_i,
    input  logic        valid_i,
    input  logic        sof_i,
    input  logic        eof_i,
    input  logic [63:0] data_i,
    output logic        pop_o,
    output logic [ 3:0] want_o,
    output logic [63:0] data_o,
    input  logic [ 3:0] pop_i,
    output logic        dropped_o,
    output logic        expired_o
);
  logic open_q, mine, expired, drop;
  logic [3:0] to_q, to;

  assign mine = data_i[55:48] == card_id_i && data_i[15:0] == node_id_i;
  assign expired = data_i[31:16] == 16'h0;

  // No bit set means: drop.
  always_comb begin
    to = 4'b0000;
    if (open_q) to = to_q;
    else if (FROM_CPU) begin
      if (entry_i && !bypassed_i && (mine || !expired)) begin
        if (mine) to[3] = 1'b1;
        else if (data_i[32+FLAG_CCW]) to[1] = 1'b1;
        else to[0] = 1'b1;
      end
    end else if (mine) begin
      if (!bypassed_i) begin
        if (!data_i[32+FLAG_TO_HOST]) to[3] = 1'b1;
        else to[2] = entry_i;
      end
    end else if (!expired) begin
      if (CCW) to[1] = 1'b1;
      else to[0] = 1'b1;
    end
  end

  always_comb begin
    data_o = data_i;
    if (!open_q && !mine) data_o[31:16] = data_i[31:16] - 16'h1;
  end

  assign drop = valid_i && to == 4'b0000;
  assign want_o = valid_i ? to : 4'b0000;
  assign pop_o = drop || pop_i != 4'b0000;
  assign dropped_o = drop && sof_i && (mine || !expired);
  assign expired_o = drop && sof_i && !mine && expired;

  always_ff @(posedge clk_i) begin
    if (rst_i) open_q <= 1'b0;
    else if (pop_o) begin
      open_q <= !eof_i;
      to_q   <= to;
    end
  end
endmodule
