// uart_fifo: what comes out is what was pushed, in order, each byte once; count_o is how many there are.
module uart_queue (
    input logic       clk_i,
    input logic       rst_i,
    input logic       push_i,
    input logic [7:0] data_i,
    input logic       pop_i,
    input logic       watch_i
);
  logic valid_o;
  logic [7:0] data_o;
  logic [4:0] count_o;
  uart_fifo dut (.*);

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb begin
    assume (started_q || rst_i);
    assume (!pop_i || valid_o);
    assume (!push_i || count_o != 5'd16 || pop_i);
  end

  // Bytes held; any one of them, watched, and how many are before it.
  logic [4:0] held_q, ahead_q;
  logic watching_q;
  logic [7:0] byte_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      held_q     <= 5'd0;
      watching_q <= 1'b0;
    end else begin
      held_q <= held_q + 5'(push_i) - 5'(pop_i);
      if (!watching_q && watch_i && push_i) begin
        watching_q <= 1'b1;
        ahead_q    <= held_q - 5'(pop_i);
        byte_q     <= data_i;
      end else if (pop_i) begin
        ahead_q <= ahead_q - 5'd1;
        if (ahead_q == 5'd0) watching_q <= 1'b0;
      end
    end
  end

  logic [3:0] place;
  assign place = dut.rd_q[3:0] + ahead_q[3:0];
  always_comb begin
    if (started_q && !rst_i) begin
      assert (count_o == held_q && held_q <= 5'd16);
      assert (valid_o == (held_q != 5'd0));
      if (watching_q) begin
        assert (ahead_q < held_q);
        if (ahead_q == 5'd0) assert (data_o == byte_q);
        // Helper.
        assert (dut.mem_q[place] == byte_q);
      end
    end
  end
endmodule
