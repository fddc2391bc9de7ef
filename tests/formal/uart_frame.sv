// uart_tx, with parity and two stop bits, any divisor that stays, any time of writes and any CTS: the line is high while
// nothing is sent. A frame is start bit, byte, parity and stop bits, each of 16 ticks, and a tick is as many clocks as
// its divisor says. No frame begins without CTS, and none ends early.
module uart_frame (
    input logic        clk_i,
    input logic        rst_i,
    input logic [23:0] divisor_i,
    input logic        cts_i,
    input logic        valid_i,
    input logic [ 7:0] data_i
);
  logic ready_o, line_o, busy_o;
  uart_tx #(.PARITY(2), .STOP_BITS(2)) dut (.*);

  logic started_q = 1'b0;
  logic [23:0] divisor_q;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    divisor_q <= divisor_i;
  end
  always_comb begin
    assume (started_q || rst_i);
    assume (divisor_i >= 24'd256);
    assume (!started_q || divisor_i == divisor_q);
  end

  // Seen from outside: what is on the line, and where in its bit. A tick comes in the last clock that isn't behind the
  // time at which it is due, in 1/256 clocks from the first bit on.
  logic live_q;
  logic [11:0] levels_q;
  logic [3:0] bit_q, tick_q;
  logic [24:0] time_q;  // 1/256 clocks and 255 since the last tick was due
  logic over, next, last;
  logic [24:0] later;
  assign later = time_q + 25'd256;
  assign over  = later >= {1'b0, divisor_i};  // the next one comes in this clock
  assign next  = over && tick_q == 4'd15;
  assign last  = next && bit_q == 4'd11;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      live_q <= 1'b0;
      bit_q  <= 4'd0;
      tick_q <= 4'd0;
      time_q <= 25'd255;
    end else begin
      if (live_q) begin
        time_q <= over ? later - {1'b0, divisor_i} : later;
        if (over) tick_q <= tick_q + 4'd1;
        if (next) bit_q <= bit_q + 4'd1;
        if (last) begin
          live_q <= 1'b0;
          bit_q  <= 4'd0;
        end
      end
      if (valid_i && ready_o) begin
        live_q   <= 1'b1;
        levels_q <= {2'b11, ~^data_i, data_i, 1'b0};
      end
      // Between frames that follow each other the clock goes on.
      if (!live_q || (last && !(valid_i && ready_o))) time_q <= 25'd255;
    end
  end

  always_comb begin
    if (started_q && !rst_i) begin
      assert (line_o == (!live_q || levels_q[bit_q]));
      if (live_q) assert (busy_o);
      assert (ready_o == (cts_i && (!live_q || last)));
      // Helpers.
      assert (bit_q <= 4'd11 && dut.bits_q == bit_q && dut.ticks_q == tick_q);
      assert (live_q || (tick_q == 4'd0 && bit_q == 4'd0 && time_q == 25'd255));
      for (int i = 0; i < 12; i++)
        assert (dut.frame_q[i] == (!live_q || 4'(i) + {1'b0, bit_q} > 5'd11 || levels_q[4'(i)+bit_q]));
      assert (dut.busy_q == live_q);
      assert (time_q < {1'b0, divisor_i});
      if (live_q) assert (time_q == {1'b0, dut.u_ticks.clocks_q, 8'd255 - dut.u_ticks.part_q});
    end
  end
endmodule
