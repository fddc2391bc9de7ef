// Transmitting end of a link: one flit a cycle, control before data, CRC written at the end of each frame.
//
// - The control stream is always taken; the data stream when d_ready_o is high.
// - A frame that ends bad leaves with the error mark and an inverted link CRC.
// - On a looped port (loop_i) each frame gets the wrapped flag; the first time, its TTL starts again at
//   ring_size_i + 1, for it has the whole ring before it once more.
// - No frame leaves with a larger TTL than that, whatever a GPU or the CPU wrote into it: none circles for long.
// - While the link isn't used (active_i low) only carrier and remote fault are on the wire; a looped port hears the rest
//   itself (heard_*_o). So each flit goes one way only, also when the two ends of a slow link don't change together.
// - silent_i: no carrier, nothing goes out.
// - c_flip_i damages the flit behind the CRC's back: the transmitter of a corrupting GPU.
// All link outputs follow from registers alone, and are zero while idle but for the levels.
module link_tx
  import ringhil_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        loop_i,         // what is taken now will be heard by this port itself
    input  logic        active_i,
    input  logic        silent_i,
    input  logic [15:0] ring_size_i,
    input  logic        c_valid_i,
    input  logic        c_sof_i,
    input  logic        c_eof_i,
    input  logic        c_bad_i,
    input  logic        c_flip_i,
    input  logic [63:0] c_data_i,
    input  logic        d_valid_i,
    input  logic        d_sof_i,
    input  logic        d_eof_i,
    input  logic        d_bad_i,
    input  logic [63:0] d_data_i,
    output logic        d_ready_o,
    input  logic        credit_i,
    input  logic        fault_i,
    output logic [63:0] data_o,         // the wire
    output logic [ 7:0] ctl_o,
    output logic [63:0] heard_data_o,   // what a looped port hears
    output logic [ 7:0] heard_ctl_o,
    output logic        busy_o
);
  logic valid, sof, eof, bad;
  logic [63:0] raw, edited;
  logic [31:0] crc_c_q, crc_d_q, crc;
  logic [15:0] longest;

  assign longest = ring_size_i + 16'h1;
  assign d_ready_o = !c_valid_i;
  assign valid = c_valid_i || d_valid_i;
  assign sof   = c_valid_i ? c_sof_i : d_sof_i;
  assign eof   = c_valid_i ? c_eof_i : d_eof_i;
  assign bad   = c_valid_i ? c_bad_i : d_bad_i;
  assign raw   = c_valid_i ? c_data_i : d_data_i;
  assign crc   = c_valid_i ? crc_c_q : crc_d_q;

  always @* begin
    edited = raw;
    if (sof) begin
      if (raw[31:16] > longest || (loop_i && !raw[32+FLAG_WRAPPED])) edited[31:16] = longest;
      if (loop_i) edited[32+FLAG_WRAPPED] = 1'b1;
    end
  end

  localparam logic [7:0] LEVELS = (8'h1 << LINK_UP) | (8'h1 << LINK_FAULT);
  logic [63:0] data_q;
  logic [ 7:0] ctl_q;
  assign data_o       = active_i ? data_q : 64'h0;
  assign ctl_o        = active_i ? ctl_q : ctl_q & LEVELS;
  assign heard_data_o = data_q;
  assign heard_ctl_o  = ctl_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      data_q  <= 64'h0;
      ctl_q   <= 8'h1 << LINK_UP;
      crc_c_q <= CRC_INITIAL;
      crc_d_q <= CRC_INITIAL;
    end else begin
      data_q <= 64'h0;
      ctl_q  <= 8'h0;
      if (valid) begin
        if (eof) data_q <= {edited[63:32], ~crc_half(crc, edited[63:32]) ^ {32{bad}}};
        else begin
          data_q <= edited ^ (c_valid_i && c_flip_i ? 64'h0001_0000_0000_0000 : 64'h0);
          if (c_valid_i) crc_c_q <= crc_flit(sof ? CRC_INITIAL : crc, edited);
          else crc_d_q <= crc_flit(sof ? CRC_INITIAL : crc, edited);
        end
        ctl_q[LINK_VALID] <= 1'b1;
        ctl_q[LINK_DATA]  <= !c_valid_i;
        ctl_q[LINK_SOF]   <= sof;
        ctl_q[LINK_EOF]   <= eof;
        ctl_q[LINK_ERR]   <= eof && bad;
      end
      ctl_q[LINK_CREDIT] <= credit_i;
      ctl_q[LINK_UP]     <= 1'b1;
      ctl_q[LINK_FAULT]  <= fault_i;
      if (silent_i) begin
        data_q <= 64'h0;
        ctl_q  <= 8'h0;
      end
    end
  end

  assign busy_o = ctl_q[LINK_VALID] || ctl_q[LINK_CREDIT] || ctl_q[LINK_UP] == silent_i
      || ctl_q[LINK_FAULT] != (fault_i && !silent_i);

`ifndef SYNTHESIS
  // Whole frames: the control channel has one owner.
  logic c_open_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) c_open_q <= 1'b0;
    else if (c_valid_i) c_open_q <= !c_eof_i;
  end
  always @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!c_valid_i || c_sof_i == !c_open_q)
      else $fatal(1, "two control frames share the output");
    end
  end
`endif
endmodule
