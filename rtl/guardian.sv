// Guardian of the ring against a babbling GPU: of the control frames that the GPU originates, at most
// allowance_i may pass in each allowance period; the next one is not let through and mutes the GPU (mute_o,
// for the bypass switch to act on). The GPU is heard again when it has kept to its allowance for one whole period:
// its firmware, which knows nothing of this, may go on sending keepalives all the while.
//
// Frames that it was handed to pass on are not originated and do not count. A period begins with the first
// frame after the last one ended, so nothing needs to run while the GPU is silent.
module guardian (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic [63:0] now_i,
    input  logic [31:0] allowance_i,
    input  logic [31:0] period_i,
    input  logic        begin_i,   // the GPU offers the first flit of a frame
    output logic        pass_o,    // it may pass
    output logic        muted_o,
    output logic        mute_o,    // becomes muted in this cycle
    output logic [63:0] wake_at_o  // end of the period, while muted
);
  logic muted_q, muted_d;
  logic [31:0] used_q, used_d;
  logic [63:0] until_q, until_d;
  logic fresh;

  assign fresh  = now_i >= until_q;
  assign pass_o = !muted_q && (fresh ? allowance_i != 32'h0 : used_q < allowance_i);
  assign mute_o = begin_i && !pass_o && !muted_q;
  assign muted_o = muted_q;
  assign wake_at_o = until_q;

  always @* begin
    muted_d = muted_q;
    used_d  = used_q;
    until_d = until_q;
    if (muted_q) begin
      used_d = used_q + 32'(begin_i);
      if (fresh) begin
        muted_d = used_q > allowance_i;
        used_d  = 32'(begin_i);
        until_d = now_i + 64'(period_i);
      end
    end else if (begin_i) begin
      muted_d = !pass_o;
      used_d  = used_q + 32'h1;
      if (fresh || !pass_o) begin
        used_d  = 32'h1;
        until_d = now_i + 64'(period_i);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      muted_q <= 1'b0;
      used_q  <= 32'h0;
      until_q <= 64'h0;
    end else begin
      muted_q <= muted_d;
      used_q  <= used_d;
      until_q <= until_d;
    end
  end
endmodule
