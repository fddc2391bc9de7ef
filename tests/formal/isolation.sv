// context_table: what belongs to a context changes by a command to it alone that brings its key or that of whoever
// manages the GPU; a launch ends by such a command or when it is done. A command that comes again, or that is older than
// another, changes nothing but whom it is answered to: none is carried out twice. How a launch ended is told of that
// launch, whatever comes before it could be told.
module isolation
  import ringhil_pkg::*;
(
    input logic                  clk_i,
    input logic                  rst_i,
    input logic                  frozen_i,
    input logic [          31:0] device_memory_i,
    input logic                  command_i,
    input logic [           7:0] compute_i,
    input logic [          15:0] context_i,
    input logic [          63:0] head0_i,
    input logic [          63:0] head1_i,
    input logic [REPLY_BITS-1:0] reply_i,
    input logic [          31:0] length_i,
    input logic [          63:0] digest_i,
    input logic [           1:0] turn_i,
    input logic                  begun_i,
    input logic                  over_i,
    input logic [          31:0] ran_i,
    input logic [          31:0] worked_i,
    input logic                  take_i,
    input logic [           1:0] which_i,  // any context
    input logic                  watch_i   // the command that is carried out now is watched
);
  localparam int CONTEXTS = 4;
  context_table #(
      .CONTEXTS(CONTEXTS)
  ) dut (
      .refuse_o(), .reason_o(), .refuse_reply_o(), .asks_o(), .energy_i(64'h0), .busy_cycles_i(64'h0), .launched_o(),
      .priority_o(), .turn_slice_o(), .turn_state_o(), .turn_left_o(), .stop_o(), .busy_o(), .valid_o(), .reply_o(),
      .status_o(), .digest_o(), .length_o(), .cycles_o(), .held_o(), .*
  );

  logic started_q = 1'b0;
  logic [1:0] which_q;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!started_q) which_q <= which_i;
  end
  always_comb assume (started_q || rst_i);

  // The command as it came, beside what the table makes of it.
  logic came_q;
  logic [7:0] compute_q;
  logic [15:0] context_q;
  logic [31:0] key_q, number_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) came_q <= 1'b0;
    else if (!frozen_i) begin
      came_q <= command_i;
      if (command_i) begin
        compute_q <= compute_i;
        context_q <= context_i;
        key_q     <= head0_i[63:32];
        number_q  <= reply_i[REPLY_UNIT+:32];
      end
    end
  end

  // May this cycle's command change the context?
  logic ours, alive, may, ends;
  assign alive = dut.alive_q[which_q];
  assign ours  = came_q && !frozen_i && context_q == {14'h0, which_q};
  assign may   = ours && (alive ? key_q == 32'h0 || key_q == dut.key_q[which_q] : compute_q == COMPUTE_CREATE);
  assign ends  = over_i && turn_i == which_q;

  // What belongs to it, but for what counts its turns.
  logic [218:0] has, had_q;
  logic may_q, ends_q, quiet_q;
  assign has = {alive, dut.launched_q[which_q], alive ? {dut.key_q[which_q], dut.limit_q[which_q], dut.used_q[which_q],
                dut.slice_q[which_q], dut.priority_q[which_q], dut.state_q[which_q]} : 160'h0,
                dut.asked_q[which_q], dut.began_q[which_q], 55'h0};
  always_ff @(posedge clk_i) begin
    had_q   <= has;
    may_q   <= may;
    ends_q  <= ends;
    quiet_q <= started_q && !rst_i;
  end

  // One command, by its number: how far the context's numbers have gone on since it was carried out.
  logic decided, watched_q;
  logic [31:0] watched_number_q, ahead_q, step;
  logic repeated_q;
  assign decided = dut.decided && dut.at_q == which_q && !frozen_i;
  assign step    = number_q - dut.last_q[which_q][REPLY_UNIT+:32];
  always_ff @(posedge clk_i) begin
    repeated_q <= !rst_i && decided && watched_q && number_q == watched_number_q;
    if (rst_i) watched_q <= 1'b0;
    else if (decided) begin
      if (watched_q) begin
        ahead_q <= ahead_q + step;
        // Another with its number, 2^32 later.
        if ({1'b0, ahead_q} + {1'b0, step} >= 33'h0_8000_0000) watched_q <= 1'b0;
      end else if (watch_i) begin
        watched_q        <= 1'b1;
        watched_number_q <= number_q;
        ahead_q          <= 32'h0;
      end
    end
  end

  // An end that is still to be told.
  logic untold, untold_q;
  logic [31:0] launch_q, ran_q, left_q;
  logic [15:0] status_q;
  assign untold = dut.ends_q[which_q] && !(take_i && dut.of_launch && dut.answer == which_q && !frozen_i);
  always_ff @(posedge clk_i) begin
    untold_q <= untold;
    launch_q <= dut.launch_q[which_q][REPLY_UNIT+:32];
    status_q <= dut.launch_status_q[which_q];
    ran_q    <= dut.launch_ran_q[which_q];
    left_q   <= dut.left_q[which_q];
  end

  always_comb begin
    assume (!over_i || dut.launched_q[turn_i]);  // asserted in proof `turns`
    if (started_q && quiet_q && !rst_i) begin
      if (!may_q && !ends_q) assert (has == had_q);
      if (!may_q) assert ({has[218], has[216:0]} == {had_q[218], had_q[216:0]});
      assert (!repeated_q);
      if (untold_q) begin
        assert (dut.ends_q[which_q] && dut.launch_q[which_q][REPLY_UNIT+:32] == launch_q
            && dut.left_q[which_q] == left_q);
        assert (dut.launch_status_q[which_q] == status_q && dut.launch_ran_q[which_q] == ran_q);
      end
    end
    // Helpers.
    if (started_q && !rst_i) begin
      if (watched_q) begin
        assert (dut.asked_q[which_q] && ahead_q < 32'h8000_0000);
        assert (dut.last_q[which_q][REPLY_UNIT+:32] == watched_number_q + ahead_q);
      end
      assert (!(dut.ends_q[which_q] && dut.launched_q[which_q]));
      assert (came_q == dut.command_q);
      if (came_q) assert (compute_q == dut.compute_q && key_q == dut.key_in && number_q == dut.reply_q[REPLY_UNIT+:32]);
      if (came_q) assert (dut.listed_q == (context_q < 16'd4) && dut.at_q == context_q[1:0]);
    end
  end
endmodule
