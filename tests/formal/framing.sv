// frame_check: what leaves is always whole frames: a beginning, a middle, one end. A frame that leaves good
// holds exactly the flits that came in, and its last one carries the CRC of the others.
module framing
  import ringhil_pkg::*;
(
    input logic        clk_i,
    input logic        rst_i,
    input logic        restart_i,
    input logic        valid_i,
    input logic        sof_i,
    input logic        eof_i,
    input logic        err_i,
    input logic [63:0] data_i
);
  logic valid_o, sof_o, eof_o, bad_o, marked_o, open_o;
  logic [63:0] data_o;
  frame_check dut (.*);

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb assume (started_q || rst_i);

  // Seen from outside: a frame is open behind the module.
  logic open_q, took_q;
  logic [31:0] step_q;  // the CRC after the flit just taken
  always_ff @(posedge clk_i) begin
    if (rst_i) open_q <= 1'b0;
    else if (valid_o) open_q <= !eof_o;
    took_q <= !rst_i && valid_o && !eof_o;
    step_q <= crc_flit(sof_i ? CRC_INITIAL : dut.crc_q, data_i);
  end

  always_comb begin
    if (started_q && !rst_i) begin
      if (valid_o) begin
        assert (sof_o == !open_q);
        if (!bad_o) begin
          assert (valid_i && data_o == data_i && sof_o == sof_i && eof_o == eof_i && !restart_i);
          if (eof_o) assert (!err_i && data_i[31:0] == ~crc_half(dut.crc_q, data_i[63:32]));
        end
      end
      if (open_q && restart_i) assert (valid_o && eof_o && bad_o);
      assert (dut.open_q == open_q);
      if (took_q) assert (dut.crc_q == step_q);
    end
  end
endmodule
