// The data channel of a node: takes frames from the four receivers and from this GPU, and brings each whole to one of
// the four transmitters or to this GPU.
//
// data_route chooses the way of a frame; a stream_arbiter for each way out takes turns between the frames that want it:
//
// | way out          | frames from, in the order of its arbiter       |
// |------------------|------------------------------------------------|
// | a lane           | that lane, this GPU, CPU, other card           |
// | CPU              | lane cw, this GPU, lane ccw, other card        |
// | other card       | lane cw, this GPU, lane ccw, CPU               |
// | this GPU         | lane cw, lane ccw, CPU, other card             |
//
// Vectors are by port (PORT_*). The clockwise lane is received at port 1 and sent by port 2, the other one the other way
// round. A frame begins only with credit: what is on its way in a ring with one, what enters it with two (credit_counter,
// injection_turn). Belongs to the switch, not to the GPU: runs whether the GPU works or not. Combinational from the
// receivers to the transmitters.
module data_switch
  import ringhil_pkg::*;
(
    input  logic             clk_i,
    input  logic             rst_i,
    input  logic             bypassed_i,
    input  logic             entry_i,
    input  logic             boundary_i,
    input  logic             from_above_i,
    input  logic [     15:0] crossings_i,
    input  logic [     15:0] exits_i,
    input  logic [      7:0] card_id_i,
    input  logic [     15:0] node_id_i,
    input  logic [     15:0] ring_size_i,
    // From the receivers.
    input  logic [      3:0] d_valid_i,
    input  logic [      3:0] d_sof_i,
    input  logic [      3:0] d_eof_i,
    input  logic [      3:0] d_bad_i,
    input  logic [3:0][63:0] d_data_i,
    output logic [      3:0] d_pop_o,
    // From this GPU, for the way t_to_i.
    input  logic             t_valid_i,
    input  logic             t_sof_i,
    input  logic             t_eof_i,
    input  logic [     63:0] t_data_i,
    input  logic [      1:0] t_to_i,
    output logic             t_pop_o,
    // To this GPU, which always takes it.
    output logic             e_valid_o,
    output logic             e_sof_o,
    output logic             e_eof_o,
    output logic             e_bad_o,
    output logic [     63:0] e_data_o,
    output logic [      1:0] e_from_o,      // the port
    // To the transmitters.
    output logic [      3:0] w_valid_o,
    output logic [      3:0] w_sof_o,
    output logic [      3:0] w_eof_o,
    output logic [      3:0] w_bad_o,
    output logic [3:0][63:0] w_data_o,
    input  logic [      3:0] w_ready_i,
    input  logic [      3:0] transit_ok_i,  // credit for one frame
    input  logic [      3:0] inject_ok_i,   // for two
    output logic [      3:0] start_o,       // a frame begins
    // By receiver: a frame is dropped, its TTL is used up, it has waited for another card too long.
    output logic [      3:0] dropped_o,
    output logic [      3:0] expired_o,
    output logic [      3:0] stalled_o
);
  // Ways: WAY_CW .. WAY_CARD, WAY_GPU.
  logic [4:0] want[4], pop[4];
  logic [63:0] data[4];
  for (genvar p = 0; p < 4; p++) begin : g_route
    data_route #(
        .FROM(p)
    ) u_route (
        .clk_i,
        .rst_i,
        .bypassed_i,
        .entry_i,
        .boundary_i,
        .from_above_i,
        .crossings_i,
        .exits_i,
        .card_id_i,
        .node_id_i,
        .ring_size_i,
        .valid_i(d_valid_i[p]),
        .sof_i(d_sof_i[p]),
        .eof_i(d_eof_i[p]),
        .data_i(d_data_i[p]),
        .pop_o(d_pop_o[p]),
        .want_o(want[p]),
        .data_o(data[p]),
        .pop_i(pop[p]),
        .dropped_o(dropped_o[p]),
        .expired_o(expired_o[p]),
        .stalled_o(stalled_o[p])
    );
  end

  logic [3:0] e_pop;
  stream_arbiter u_eject (
      .clk_i,
      .rst_i,
      .want_i({want[3][WAY_GPU], want[2][WAY_GPU], want[1][WAY_GPU], want[0][WAY_GPU]}),
      .may_start_i(4'b1111),
      .sof_i(d_sof_i),
      .eof_i(d_eof_i),
      .bad_i(d_bad_i),
      .data_i({data[3], data[2], data[1], data[0]}),
      .ready_i(1'b1),
      .pop_o(e_pop),
      .valid_o(e_valid_o),
      .sof_o(e_sof_o),
      .eof_o(e_eof_o),
      .bad_o(e_bad_o),
      .data_o(e_data_o)
  );
  assign e_from_o = {e_pop[3] || e_pop[2], e_pop[3] || e_pop[1]};

  logic [3:0] w_pop[4], t_pop;
  assign t_pop_o = t_pop != 4'b0000;
  for (genvar w = 0; w < 4; w++) begin : g_way
    localparam bit RING = w == WAY_CW || w == WAY_CCW;
    localparam int OUT = w == WAY_CW ? PORT_P2 : w == WAY_CCW ? PORT_P1 : w;
    // Receivers of streams 0, 2 and 3; stream 1 is this GPU's.
    localparam int R0 = w == WAY_CCW ? PORT_P2 : PORT_P1;
    localparam int R2 = RING ? PORT_HOST : PORT_P2;
    localparam int R3 = w == WAY_CARD ? PORT_HOST : PORT_BOUNDARY;
    logic [3:0] wanted, may_start;
    assign wanted = {want[R3][w], want[R2][w], t_valid_i && t_to_i == 2'(w), want[R0][w]};
    if (RING) begin : g_ring
      logic give_way;
      injection_turn u_turn (
          .clk_i,
          .rst_i,
          .waiting_i(wanted[3:1] != 3'b000),
          .transit_ok_i(transit_ok_i[OUT]),
          .inject_ok_i(inject_ok_i[OUT]),
          .begin_i(start_o[OUT]),
          .hold_o(give_way)
      );
      assign may_start = {{3{inject_ok_i[OUT]}}, transit_ok_i[OUT] && !give_way};
    end else begin : g_leave
      assign may_start = {4{transit_ok_i[OUT]}};
    end
    stream_arbiter u_arbiter (
        .clk_i,
        .rst_i,
        .want_i(wanted),
        .may_start_i(may_start),
        .sof_i({d_sof_i[R3], d_sof_i[R2], t_sof_i, d_sof_i[R0]}),
        .eof_i({d_eof_i[R3], d_eof_i[R2], t_eof_i, d_eof_i[R0]}),
        .bad_i({d_bad_i[R3], d_bad_i[R2], 1'b0, d_bad_i[R0]}),
        .data_i({data[R3], data[R2], t_data_i, data[R0]}),
        .ready_i(w_ready_i[OUT]),
        .pop_o(w_pop[w]),
        .valid_o(w_valid_o[OUT]),
        .sof_o(w_sof_o[OUT]),
        .eof_o(w_eof_o[OUT]),
        .bad_o(w_bad_o[OUT]),
        .data_o(w_data_o[OUT])
    );
    assign t_pop[w] = w_pop[w][1];
    assign start_o[OUT] = w_valid_o[OUT] && w_ready_i[OUT] && w_sof_o[OUT];
  end

  // By receiver: GPU, other card, CPU, ccw, cw.
  assign pop[PORT_P1] = {e_pop[0], w_pop[WAY_CARD][0], w_pop[WAY_HOST][0], 1'b0, w_pop[WAY_CW][0]};
  assign pop[PORT_P2] = {e_pop[1], w_pop[WAY_CARD][2], w_pop[WAY_HOST][2], w_pop[WAY_CCW][0], 1'b0};
  assign pop[PORT_HOST] = {e_pop[2], w_pop[WAY_CARD][3], 1'b0, w_pop[WAY_CCW][2], w_pop[WAY_CW][2]};
  assign pop[PORT_BOUNDARY] = {e_pop[3], 1'b0, w_pop[WAY_HOST][3], w_pop[WAY_CCW][3], w_pop[WAY_CW][3]};

`ifndef SYNTHESIS
  // Each frame has one way out.
  for (genvar p = 0; p < 4; p++) begin : g_one_way
    always @(posedge clk_i) begin
      if (!rst_i) begin
        assert ((want[p] & (want[p] - 5'h1)) == 5'h0)
        else $fatal(1, "a frame wants two ways out");
        assert ((pop[p] & ~want[p]) == 5'h0)
        else $fatal(1, "a frame is taken by a way that it doesn't want");
      end
    end
  end
  always @(posedge clk_i) begin
    if (!rst_i) begin
      assert ((t_pop & (t_pop - 4'h1)) == 4'h0 && (t_valid_i || t_pop == 4'h0))
      else $fatal(1, "a result is taken twice, or where there is none");
    end
  end
`endif
endmodule
