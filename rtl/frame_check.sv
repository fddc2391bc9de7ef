// Framing and CRC of the frames that arrive on one virtual channel of a port.
//
// Only whole frames leave: flits without a beginning are dropped; a frame that is cut (restart_i, or a new
// beginning in its middle) is ended with one bad flit, so that nothing behind this module ever waits for
// the rest or takes it for good. bad_o and marked_o count at eof_o: marked_o means that an earlier hop had
// found it bad, bad_o alone that the link before this port is to blame. Outputs are combinational.
module frame_check
  import ringhil_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        restart_i,
    input  logic        valid_i,
    input  logic        sof_i,
    input  logic        eof_i,
    input  logic        err_i,
    input  logic [63:0] data_i,
    output logic        valid_o,
    output logic        sof_o,
    output logic        eof_o,
    output logic        bad_o,
    output logic        marked_o,
    output logic [63:0] data_o,
    output logic        open_o
);
  logic open_q, cut, take, wrong;
  logic [31:0] crc_q;

  // Nothing is worked out while nothing arrives.
  always @* begin
    cut      = open_q && restart_i;
    take     = 1'b0;
    wrong    = 1'b0;
    sof_o    = 1'b0;
    marked_o = 1'b0;
    if (valid_i) begin
      cut   = open_q && (restart_i || sof_i);
      take  = !restart_i && sof_i != open_q;
      sof_o = take && sof_i;
      if (take && eof_i) begin
        marked_o = err_i;
        wrong    = (~crc_half(crc_q, data_i[63:32]) != data_i[31:0]) || sof_i;
      end
    end
  end

  assign valid_o = cut || take;
  assign eof_o   = cut || (take && eof_i);
  assign bad_o   = cut || marked_o || wrong;
  assign data_o  = cut ? 64'h0 : data_i;
  assign open_o   = open_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      open_q <= 1'b0;
      crc_q  <= CRC_INITIAL;
    end else if (cut) begin
      open_q <= 1'b0;
    end else if (take) begin
      open_q <= !eof_i;
      if (!eof_i) crc_q <= crc_flit(sof_i ? CRC_INITIAL : crc_q, data_i);
    end
  end
endmodule
