// Four frame streams into one, frame by frame, in turn.
//
// A stream may begin when want_i and may_start_i are high; it then holds the output until its eof_i.
// The stream that was served last comes last. No idle cycle between frames. Combinational from the inputs.
// data_i: stream s at [64*s +: 64].
module stream_arbiter (
    input  logic         clk_i,
    input  logic         rst_i,
    input  logic [  3:0] want_i,
    input  logic [  3:0] may_start_i,
    input  logic [  3:0] sof_i,
    input  logic [  3:0] eof_i,
    input  logic [  3:0] bad_i,
    input  logic [255:0] data_i,
    input  logic         ready_i,
    output logic [  3:0] pop_o,
    output logic         valid_o,
    output logic         sof_o,
    output logic         eof_o,
    output logic         bad_o,
    output logic [ 63:0] data_o
);
  logic locked_q;
  logic [1:0] select_q, select;
  logic [3:0] able;

  assign able = want_i & may_start_i;

  always @* begin
    select  = select_q;
    valid_o = 1'b0;
    sof_o   = 1'b0;
    eof_o   = 1'b0;
    bad_o   = 1'b0;
    data_o  = 64'h0;
    pop_o   = 4'h0;
    if (want_i != 4'h0) begin
      if (!locked_q) begin
        unique case (select_q)
          2'd0: select = able[1] ? 2'd1 : able[2] ? 2'd2 : able[3] ? 2'd3 : 2'd0;
          2'd1: select = able[2] ? 2'd2 : able[3] ? 2'd3 : able[0] ? 2'd0 : 2'd1;
          2'd2: select = able[3] ? 2'd3 : able[0] ? 2'd0 : able[1] ? 2'd1 : 2'd2;
          default: select = able[0] ? 2'd0 : able[1] ? 2'd1 : able[2] ? 2'd2 : 2'd3;
        endcase
      end
      valid_o = locked_q ? want_i[select] : able[select];
      sof_o   = sof_i[select] && valid_o;
      eof_o   = eof_i[select] && valid_o;
      bad_o   = bad_i[select] && valid_o;
      if (valid_o)
        unique case (select)
          2'd0: data_o = data_i[63:0];
          2'd1: data_o = data_i[127:64];
          2'd2: data_o = data_i[191:128];
          default: data_o = data_i[255:192];
        endcase
      pop_o[select] = valid_o && ready_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      locked_q <= 1'b0;
      select_q <= 2'd3;
    end else if (valid_o && ready_i) begin
      locked_q <= !eof_o;
      select_q <= select;
    end
  end

`ifndef SYNTHESIS
  // One owner of the output: a frame ends before the next one begins, and goes on from its beginning.
  always @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!valid_o || sof_o == !locked_q)
      else $fatal(1, "two frames share the output");
      assert ((pop_o & (pop_o - 4'h1)) == 4'h0)
      else $fatal(1, "two streams are taken at once");
    end
  end
`endif
endmodule
