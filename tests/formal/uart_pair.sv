// uart_tx and uart on one line, with the same divisor, a tick a clock; whatever is written, whenever, and whenever the
// reader takes something: each byte that is taken comes out of the receiver once, unchanged, in order, in one and the
// same clock of its frame. No error is told. The sender honours RTS, and the queue never overruns: when RTS falls no
// more bytes come, as that happens in the middle of a stop bit.
//
// SMALL: two places and short frames, so that a queue fills within the depth of a search.
module uart_pair
`ifdef SMALL
#(
    parameter int OVERSAMPLE = 16,
    parameter int DATA_BITS  = 1,
    parameter int LOG2       = 1,
    parameter int SPARE      = 1
)
`else
#(
    parameter int OVERSAMPLE = 16,
    parameter int DATA_BITS  = 8,
    parameter int LOG2       = 4,
    parameter int SPARE      = 4
)
`endif
(
    input logic                 clk_i,
    input logic                 rst_i,
    input logic                 valid_i,
    input logic [DATA_BITS-1:0] data_i,
    input logic                 ready_i,  // the reader
    input logic                 sends_i   // what the receiver's own transmitter does
);
  localparam int FRAME = OVERSAMPLE * (DATA_BITS + 2);  // clocks
  localparam int AGE_W = $clog2(FRAME);
  localparam int DELAY = 3;  // clocks from the line to the receiver's count: two registers, and it sees a low
  localparam int CAME = DELAY + OVERSAMPLE * (DATA_BITS + 1) + OVERSAMPLE / 2;
  localparam int ENOUGH = (1 << LOG2) - SPARE;

  logic line, rts, taken, ready;
  logic [1:0] cts_q;
  uart_tx #(.OVERSAMPLE(OVERSAMPLE), .DATA_BITS(DATA_BITS)) tx (
      .clk_i, .rst_i, .divisor_i(24'd256), .cts_i(cts_q[1]), .valid_i, .data_i, .ready_o(ready), .line_o(line), .busy_o()
  );
  uart #(.OVERSAMPLE(OVERSAMPLE), .DATA_BITS(DATA_BITS), .LOG2(LOG2), .SPARE(SPARE)) dut (
      .clk_i, .rst_i, .divisor_i(24'd256), .rx_i(line), .tx_o(), .cts_i(1'b1), .rts_o(rts), .tx_valid_i(sends_i),
      .tx_data_i('0), .tx_ready_o(), .rx_valid_o(), .rx_data_o(), .rx_ready_i(ready_i), .errors_o(), .clear_i(4'h0),
      .idle_o()
  );
  assign taken = valid_i && ready;
  always_ff @(posedge clk_i) cts_q <= rst_i ? 2'b00 : {cts_q[0], rts};

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb assume (started_q || rst_i);

  // Seen from outside: the frame on the line, how many clocks of it have passed, and clocks since reset, to 3.
  logic live_q;
  logic [AGE_W-1:0] age_q;
  logic [DATA_BITS-1:0] byte_q;
  logic [1:0] since_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      live_q  <= 1'b0;
      age_q   <= '0;
      since_q <= 2'd0;
    end else begin
      if (since_q != 2'd3) since_q <= since_q + 2'd1;
      if (taken) begin
        live_q <= 1'b1;
        age_q  <= '0;
        byte_q <= data_i;
      end else if (live_q) begin
        live_q <= age_q != AGE_W'(FRAME - 1);
        age_q  <= age_q == AGE_W'(FRAME - 1) ? '0 : age_q + 1'b1;
      end
    end
  end

  // The line in clock `at` of a frame; it is high before one.
  function automatic logic level(input int at);
    logic [DATA_BITS+1:0] levels;
    levels = {1'b1, byte_q, 1'b0};
    return at < 0 || levels[at/OVERSAMPLE];
  endfunction

  int age, at, place;
  logic receiving;
  logic [DATA_BITS+1:0] left;  // what the transmitter holds
  assign age = live_q ? int'(age_q) : -1;
  assign at = age - DELAY;  // of the frame, as the receiver counts
  assign place = at / OVERSAMPLE;
  assign receiving = live_q && at >= 0 && age <= CAME;
  always_comb begin
    left = {1'b1, byte_q, 1'b0};
    for (int i = 0; i < DATA_BITS + 2; i++) if (i < age / OVERSAMPLE) left = {1'b1, left[DATA_BITS+1:1]};
  end

  always_comb begin
    if (started_q && !rst_i) begin
      // One byte for each that was taken, at its time; nothing else.
      assert (dut.came == (age == CAME));
      assert (dut.u_fifo.push_i == dut.came);
      if (dut.came) assert (dut.u_fifo.data_i == byte_q);
      assert (dut.events == 4'h0 && dut.errors_q == 4'h0);
      assert (int'(dut.count) <= ENOUGH);
      assert (line == (!live_q || level(age)));
      // A byte that can be sent is taken at once.
      if (cts_q[1] && (!live_q || age == FRAME - 1)) assert (ready);
      else assert (!ready);
      // Helpers.
      assert (tx.busy_q == live_q);
      if (live_q) begin
        assert (age < FRAME);
        assert (int'(tx.bits_q) * OVERSAMPLE + int'(tx.ticks_q) == age);
        assert (int'(tx.ticks_q) < OVERSAMPLE);
        assert (tx.frame_q == left);
        assert (age <= int'(since_q) - 1 || since_q == 2'd3);
      end
      assert (tx.u_ticks.clocks_q == 16'd0 && tx.u_ticks.part_q == 8'd0);
      assert (dut.u_rx.u_ticks.clocks_q == 16'd0 && dut.u_rx.u_ticks.part_q == 8'd0);
      assert (dut.rx_q[0] == (since_q != 2'd0 && (!live_q || level(age - 1))));
      assert (dut.rx_q[1] == (since_q > 2'd1 && (!live_q || level(age - 2))));
      assert (int'(dut.u_rx.state_q) == (receiving ? 1 : since_q == 2'd3 ? 0 : 2));
      if (receiving) begin
        assert (int'(dut.u_rx.place_q) == place);
        assert (int'(dut.u_rx.ticks_q) == at % OVERSAMPLE);
        if (at % OVERSAMPLE >= OVERSAMPLE / 2 - 1) assert (dut.u_rx.samples_q[0] == level(at - 1));
        if (at % OVERSAMPLE == OVERSAMPLE / 2) assert (dut.u_rx.samples_q[1] == level(at - 2));
        // Bits that were decided stand highest.
        for (int i = 0; i < DATA_BITS; i++)
          for (int d = 0; d <= DATA_BITS; d++)
            if (d == (place == 0 ? 0 : at % OVERSAMPLE > OVERSAMPLE / 2 ? place : place - 1) && i < d)
              assert (dut.u_rx.bits_q[DATA_BITS-d+i] == byte_q[i]);
      end else assert (dut.u_rx.place_q == '0 && dut.u_rx.ticks_q == '0);
      // RTS, and what has been seen of it: it is high with a full queue only until the byte that filled it is over.
      if (rts) assert (int'(dut.count) < ENOUGH || age == CAME + 1);
      if (cts_q[0]) assert (int'(dut.count) < ENOUGH || (age > CAME && age <= CAME + 2));
      if (cts_q[1]) assert (int'(dut.count) < ENOUGH || (age > CAME && age <= CAME + 3));
      if (live_q && age <= CAME) assert (int'(dut.count) < ENOUGH);
    end
  end
endmodule
