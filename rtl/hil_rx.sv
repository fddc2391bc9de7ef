// Takes messages off a line: 00 | COBS(message, CRC) | 00. Whatever comes, the next zero byte begins afresh.
//
// A whole message waits, message_o high, with length_o bytes without CRC, and nothing more is taken until done_i. byte_o is
// the byte at place_i a clock ago.
// bad_o: what stood between two zero bytes was no message, or one of more than HIL_ROOM bytes with its CRC.
module hil_rx
  import ringhil_pkg::*;
#(
    localparam int LOG2 = $clog2(HIL_ROOM)
) (
    input  logic            clk_i,
    input  logic            rst_i,
    input  logic            valid_i,
    input  logic [     7:0] data_i,
    output logic            ready_o,
    output logic            message_o,
    output logic            bad_o,
    output logic [  LOG2:0] length_o,
    input  logic            done_i,
    input  logic [LOG2-1:0] place_i,
    output logic [     7:0] byte_o
);
  localparam logic [LOG2:0] ROOM = {1'b1, {LOG2{1'b0}}};
  localparam logic [LOG2:0] CRC_BYTES = 4;

  logic [7:0] mem_q[1<<LOG2];
  logic [LOG2:0] used_q;
  logic [7:0] left_q;  // bytes until the next code byte
  logic begun_q, spoilt_q, message_q;
  logic [4:0][31:0] crc_q;  // after all bytes, after all but the last, ... but the last four
  logic [31:0] last_q;  // the last four bytes
  logic take, zero, ends, good, write;
  logic [7:0] written;

  assign ready_o   = !message_q;
  assign message_o = message_q;
  assign length_o  = used_q - CRC_BYTES;

  assign take    = valid_i && ready_o;
  assign zero    = data_i == 8'h00;
  assign ends    = take && zero && begun_q;
  assign good    = !spoilt_q && left_q == 8'h00 && used_q > CRC_BYTES && ~crc_q[4] == last_q;
  assign bad_o   = ends && !good;
  // A code byte but the first stands for a zero: that of the block before it.
  assign write   = take && !zero && (left_q != 8'h00 || begun_q);
  assign written = left_q != 8'h00 ? data_i : 8'h00;

  always_ff @(posedge clk_i) begin
    if (write && used_q != ROOM) mem_q[used_q[LOG2-1:0]] <= written;
    byte_o <= mem_q[place_i];
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || done_i || bad_o) begin
      used_q    <= '0;
      left_q    <= 8'h00;
      begun_q   <= 1'b0;
      spoilt_q  <= 1'b0;
      message_q <= 1'b0;
      crc_q     <= {5{CRC_INITIAL}};
      last_q    <= 32'h0;
    end else if (ends) begin
      message_q <= 1'b1;
    end else if (take && !zero) begin
      begun_q <= 1'b1;
      left_q  <= left_q != 8'h00 ? left_q - 1'b1 : data_i - 1'b1;
      if (write) begin
        if (used_q == ROOM) spoilt_q <= 1'b1;
        else used_q <= used_q + 1'b1;
        crc_q  <= {crc_q[3:0], crc_byte(crc_q[0], written)};
        last_q <= {last_q[23:0], written};
      end
    end
  end
endmodule
