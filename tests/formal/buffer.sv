// data_fifo: whatever arrives, at most SLOTS frames are held, the buffer never overruns, and what comes out is what
// went in, flit by flit, in order. A frame without a slot isn't taken at all; one that is too long ends bad.
module buffer
  import ringhil_pkg::*;
(
    input logic        clk_i,
    input logic        rst_i,
    input logic        restart_i,
    input logic        valid_i,
    input logic        sof_i,
    input logic        eof_i,
    input logic        bad_i,
    input logic [63:0] data_i,
    input logic        pop_i,
    input logic        watch_i,
    input logic [ 6:0] where_i   // any place of the buffer
);
  logic valid_o, sof_o, eof_o, bad_o, credit_o, busy_o;
  logic [63:0] data_o;
  data_fifo dut (.*);

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb assume (started_q || rst_i);

  // frame_check sends whole frames (proof `framing`); the router pops only what is there (proof `quiescence`).
  logic in_frame_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) in_frame_q <= 1'b0;
    else if (valid_i) in_frame_q <= !eof_i;
  end
  always_comb begin
    assume (!valid_i || sof_i == !in_frame_q);
    assume (!pop_i || valid_o);
  end

  logic [6:0] where_q;
  always_ff @(posedge clk_i) if (!started_q) where_q <= where_i;

  // How many flits are held, and where the up to three whole frames end, counted from the head.
  logic [7:0] held_q, held_d;
  logic [7:0] end_q[3], end_d[3];
  logic [1:0] whole_q, whole_d;
  logic open_q;  // the last frame held isn't whole yet
  logic [7:0] length_q;  // of that frame
  logic pushed, left;
  assign pushed = dut.push;
  assign left   = pop_i && eof_o;
  always_comb begin
    held_d  = held_q + 8'(pushed) - 8'(pop_i);
    whole_d = whole_q - 2'(left);
    for (int i = 0; i < 3; i++) end_d[i] = end_q[i] - 8'(pop_i);
    if (left) begin
      end_d[0] = end_d[1];
      end_d[1] = end_d[2];
    end
    if (pushed && eof_i) begin
      end_d[whole_d] = held_d;
      whole_d = whole_d + 2'd1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      held_q  <= 8'd0;
      whole_q <= 2'd0;
      open_q  <= 1'b0;
    end else begin
      held_q  <= held_d;
      whole_q <= whole_d;
      if (pushed) open_q <= !eof_i;
      if (pushed) length_q <= sof_i ? 8'd1 : length_q + 8'd1;
    end
    for (int i = 0; i < 3; i++) end_q[i] <= end_d[i];
  end

  // A flit of the frame that is being taken in was left out, so its end must be bad.
  logic lost_q;
  always_ff @(posedge clk_i) if (valid_i) lost_q <= !sof_i && (lost_q || !pushed);

  // Any one flit, watched from its arrival to its leaving.
  logic watching_q;
  logic [7:0] ahead_q;  // flits before it
  logic [66:0] flit_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) watching_q <= 1'b0;
    else if (!watching_q && watch_i && pushed) begin
      watching_q <= 1'b1;
      ahead_q    <= held_q - 8'(pop_i);
      flit_q     <= {sof_i, eof_i, bad_i || dut.long_q && !sof_i, data_i};
    end else if (pop_i) begin
      ahead_q <= ahead_q - 8'd1;
      if (ahead_q == 8'd0) watching_q <= 1'b0;
    end
  end

  logic [6:0] place, from_head;
  assign from_head = where_q - dut.rd_q;

  // where_q stands for every place, so what is asserted of it held of the head, too, in the cycle before.
  logic head_ok_q;
  always_ff @(posedge clk_i)
    head_ok_q <= rst_i || held_q == 8'd0 || eof_o == (whole_q != 2'd0 && end_q[0] == 8'd1);
  always_comb assume (!started_q || head_ok_q);
  // The last flit of a frame leaves, and none is counted (assumed not to be in proofs `credits`).
  logic underrun_q;
  always_ff @(posedge clk_i) underrun_q <= !rst_i && left && dut.frames_q == 3'd0;

  assign place = dut.rd_q + ahead_q[6:0];
  localparam logic [7:0] LONGEST = 8'(DATA_FRAME_FLITS);
  logic [7:0] last_end;
  assign last_end = whole_q == 2'd0 ? 8'd0 : end_q[whole_q-2'd1];
  always_comb begin
    if (started_q && !rst_i) begin
      assert (dut.frames_q <= 3'd3 && !underrun_q);
      assert (held_q <= 8'd3 * LONGEST);
      if (pushed && !sof_i && lost_q) assert (eof_i && dut.long_q);
      assert (valid_o == (held_q != 8'd0));
      if (watching_q) begin
        assert (ahead_q < held_q);
        if (ahead_q == 8'd0) assert ({sof_o, eof_o, bad_o, data_o} == flit_q);
      end
      // Helpers.
      assert (held_q[6:0] == dut.wr_q - dut.rd_q);
      assert (dut.frames_q == 3'(whole_q) + 3'(open_q));
      assert (open_q == (in_frame_q && !dut.skip_q));
      if (!open_q) assert (held_q == last_end);
      else begin
        assert (length_q <= LONGEST - 8'd1 && length_q != 8'd0);
        assert (lost_q == dut.long_q);
        if (dut.long_q) assert (length_q == LONGEST - 8'd1);  // its bad end is still to come
        else assert (length_q == 8'(dut.length_q));
        assert (held_q <= last_end + length_q);
        assert (last_end <= held_q);
        if (whole_q != 2'd0) assert (held_q == last_end + length_q);
      end
      for (int i = 0; i < 3; i++)
        if (2'(i) < whole_q) begin
          assert (end_q[i] <= LONGEST + (i == 0 ? 8'd0 : end_q[i-1]));
          assert (end_q[i] > (i == 0 ? 8'd0 : end_q[i-1]));
        end
      if ({1'b0, from_head} < held_q)
        assert (dut.tag_q[where_q][1] == (whole_q > 2'd0 && {1'b0, from_head} == end_q[0] - 8'd1
            || whole_q > 2'd1 && {1'b0, from_head} == end_q[1] - 8'd1
            || whole_q > 2'd2 && {1'b0, from_head} == end_q[2] - 8'd1));
      if (watching_q) assert ({dut.tag_q[place], dut.mem_q[place]} == flit_q);
    end
  end
endmodule
