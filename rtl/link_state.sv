// State of one port's link: ACTIVE, DOWN or READY.
//
// No carrier, or the peer's remote-fault mark, takes an active link down at once. When the carrier has been
// back for restore_i cycles the port says so (READY: its own remote-fault mark goes off); the link is active
// again when both ends have said so. Because the mark travels ahead of the traffic, no end misses a frame but for one
// that begins in the very cycle in which the other end comes back.
//
// While the link is not active, active_o is low and the port's owner loops or drains it. restart_o is high
// in the cycle before active_o changes: open frames are cut there and credits start afresh.
module link_state (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic [63:0] now_i,
    input  logic [31:0] restore_i,
    input  logic        rx_up_i,
    input  logic        rx_fault_i,
    output logic        active_o,
    output logic        tx_fault_o,
    output logic        restart_o,
    output logic        waiting_o,  // wake_at_o counts
    output logic [63:0] wake_at_o,
    output logic [ 2:0] level_o
);
  typedef enum logic [1:0] {
    ACTIVE,
    DOWN,
    READY
  } state_e;
  state_e state_q, state_d;
  logic timing_q, timing_d;
  logic [63:0] at_q, at_d;

  always @* begin
    state_d  = state_q;
    timing_d = 1'b0;
    at_d     = at_q;
    unique case (state_q)
      ACTIVE:  if (!rx_up_i || rx_fault_i) state_d = DOWN;
      DOWN: begin
        timing_d = rx_up_i;
        if (rx_up_i && !timing_q) at_d = now_i + 64'(restore_i);
        if (rx_up_i && timing_q && now_i >= at_q) begin
          state_d  = READY;
          timing_d = 1'b0;
        end
      end
      default: begin
        if (!rx_up_i) state_d = DOWN;
        else if (!rx_fault_i) state_d = ACTIVE;
      end
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q  <= ACTIVE;
      timing_q <= 1'b0;
      at_q     <= 64'h0;
    end else begin
      state_q  <= state_d;
      timing_q <= timing_d;
      at_q     <= at_d;
    end
  end

  assign active_o   = state_q == ACTIVE;
  assign tx_fault_o = state_q == DOWN;
  assign restart_o  = (state_q == ACTIVE) != (state_d == ACTIVE);
  assign waiting_o  = timing_q;
  assign wake_at_o  = at_q;
  assign level_o    = {timing_q, state_q};
endmodule
