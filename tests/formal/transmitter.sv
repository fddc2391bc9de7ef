// link_tx: a flit goes out one cycle after it came in, once, unchanged but for what the contract names: TTL and wrapped
// flag in the first flit, link CRC in the last, one bit where c_flip_i says so. What comes out of a good frame is good.
// On the wire it goes only while the link is used; else only a looped port hears it.
module transmitter
  import ringhil_pkg::*;
(
    input logic        clk_i,
    input logic        rst_i,
    input logic        loop_i,
    input logic        active_i,
    input logic        silent_i,
    input logic [15:0] ring_size_i,
    input logic        c_valid_i,
    input logic        c_sof_i,
    input logic        c_eof_i,
    input logic        c_bad_i,
    input logic        c_flip_i,
    input logic [63:0] c_data_i,
    input logic        d_valid_i,
    input logic        d_sof_i,
    input logic        d_eof_i,
    input logic        d_bad_i,
    input logic [63:0] d_data_i,
    input logic        credit_i,
    input logic        fault_i
);
  logic d_ready_o, busy_o;
  logic [63:0] data_o, heard_data_o;
  logic [7:0] ctl_o, heard_ctl_o;
  link_tx dut (.*);

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb assume (started_q || rst_i);

  // The flit taken in the last cycle.
  logic taken_q, is_data_q, sof_q, eof_q, bad_q, flip_q, loop_q, silent_q, was_reset_q;
  logic [63:0] flit_q;
  logic [15:0] longest_q, ttl_q;
  always_ff @(posedge clk_i) begin
    taken_q <= started_q && !rst_i && (c_valid_i || (d_valid_i && d_ready_o));
    is_data_q <= !c_valid_i;
    {sof_q, eof_q, bad_q, flit_q} <= c_valid_i ? {c_sof_i, c_eof_i, c_bad_i, c_data_i}
                                               : {d_sof_i, d_eof_i, d_bad_i, d_data_i};
    flip_q    <= c_valid_i && c_flip_i;
    loop_q    <= loop_i;
    silent_q  <= silent_i && !rst_i;
    was_reset_q <= rst_i;
    longest_q <= ring_size_i + 16'h1;
  end
  assign ttl_q = flit_q[31:16];

  // The CRC of each channel after the flit just taken, and the trailer that belongs to it.
  logic [31:0] before_c_q, before_d_q, step_q, trailer_q;
  always_ff @(posedge clk_i) begin
    before_c_q <= dut.crc_c_q;
    before_d_q <= dut.crc_d_q;
    step_q     <= crc_flit(dut.sof ? CRC_INITIAL : dut.crc, dut.edited);
    trailer_q  <= ~crc_half(dut.crc, dut.edited[63:32]);
  end

  localparam logic [7:0] LEVELS = 8'h1 << LINK_UP | 8'h1 << LINK_FAULT;
  always_comb begin
    if (started_q && !rst_i) begin
      // The wire carries what a looped port hears, and none of it while the link isn't used.
      assert (data_o == (active_i ? heard_data_o : 64'h0));
      assert (ctl_o == (active_i ? heard_ctl_o : heard_ctl_o & LEVELS));
      if (silent_q) assert (heard_ctl_o == 8'h0 && heard_data_o == 64'h0);
      else begin
        assert (heard_ctl_o[LINK_VALID] == taken_q);
        if (taken_q) begin
          assert (heard_ctl_o[LINK_DATA] == is_data_q);
          assert (heard_ctl_o[LINK_SOF] == sof_q && heard_ctl_o[LINK_EOF] == eof_q);
          assert (heard_ctl_o[LINK_ERR] == (eof_q && bad_q));
          if (sof_q) begin
            if (!eof_q) assert ({heard_data_o[63:42], heard_data_o[40:32], heard_data_o[15:0]} ==
                ({flit_q[63:42], flit_q[40:32], flit_q[15:0]} ^ (flip_q ? 47'h1 << 31 : 47'h0)));
            assert (heard_data_o[32+FLAG_WRAPPED] == (flit_q[32+FLAG_WRAPPED] || loop_q));
            if (!eof_q) begin
              if (loop_q && !flit_q[32+FLAG_WRAPPED]) assert (heard_data_o[31:16] == longest_q);
              else assert (heard_data_o[31:16] == (ttl_q < longest_q ? ttl_q : longest_q));
            end
          end else if (eof_q) assert (heard_data_o[63:32] == flit_q[63:32]);
          else assert (heard_data_o == (flit_q ^ (flip_q ? 64'h1 << 48 : 64'h0)));
          if (eof_q) assert (heard_data_o[31:0] == (bad_q ? ~trailer_q : trailer_q));
        end else assert (heard_data_o == 64'h0);
      end
    end
    // Each channel's CRC takes in its own flits, just as they leave, and no others.
    if (started_q && !rst_i && !was_reset_q) begin
      assert (dut.crc_c_q == (taken_q && !is_data_q && !eof_q ? step_q : before_c_q));
      assert (dut.crc_d_q == (taken_q && is_data_q && !eof_q ? step_q : before_d_q));
    end
  end
endmodule
