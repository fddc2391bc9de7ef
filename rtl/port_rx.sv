// Receiving end of a link: state of the link, both virtual channels checked, data buffered, credits kept.
//
// While the link is not active, a ring port (LOOP) hears its own transmitter instead: what would leave by the
// dead link comes back on the other lane (WRAP). A port to the CPU hears nothing.
module port_rx
  import ringhil_pkg::*;
#(
    parameter bit LOOP = 1'b1
) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic [63:0] now_i,
    input  logic [31:0] restore_i,
    input  logic [63:0] rx_data_i,
    input  logic [ 7:0] rx_ctl_i,
    input  logic [63:0] tx_data_i,      // what this port's own transmitter sends
    input  logic [ 7:0] tx_ctl_i,
    // Control channel.
    output logic        c_valid_o,
    output logic        c_sof_o,
    output logic        c_eof_o,
    output logic        c_bad_o,
    output logic        c_marked_o,
    output logic [63:0] c_data_o,
    // Data channel, buffered.
    input  logic        d_pop_i,
    output logic        d_valid_o,
    output logic        d_sof_o,
    output logic        d_eof_o,
    output logic        d_bad_o,
    output logic [63:0] d_data_o,
    // Credits and state for the transmitter.
    input  logic        start_i,        // the transmitter begins a data frame
    output logic        transit_ok_o,
    output logic        inject_ok_o,
    output logic        credit_o,
    output logic        fault_o,
    output logic        active_o,
    output logic        loop_o,         // in the next cycle this port will hear itself
    output logic        down_o,         // goes down in this cycle
    output logic        waiting_o,
    output logic [63:0] wake_at_o,
    output logic [ 4:0] level_o,
    output logic        busy_o
);
  logic restart, active, fifo_busy, c_open, d_open;
  logic [63:0] data;
  logic [ 7:0] ctl;
  logic [ 2:0] state;
  logic v_valid, v_sof, v_eof, v_bad, v_marked;
  logic [63:0] v_data;

  link_state u_state (
      .clk_i,
      .rst_i,
      .now_i,
      .restore_i,
      .rx_up_i(rx_ctl_i[LINK_UP]),
      .rx_fault_i(rx_ctl_i[LINK_FAULT]),
      .active_o(active),
      .tx_fault_o(fault_o),
      .restart_o(restart),
      .waiting_o,
      .wake_at_o,
      .level_o(state)
  );

  assign data = active ? rx_data_i : LOOP ? tx_data_i : 64'h0;
  assign ctl = active ? rx_ctl_i : LOOP ? tx_ctl_i : 8'h0;

  frame_check u_control (
      .clk_i,
      .rst_i,
      .restart_i(restart),
      .valid_i(ctl[LINK_VALID] && !ctl[LINK_DATA]),
      .sof_i(ctl[LINK_SOF]),
      .eof_i(ctl[LINK_EOF]),
      .err_i(ctl[LINK_ERR]),
      .data_i(data),
      .valid_o(c_valid_o),
      .sof_o(c_sof_o),
      .eof_o(c_eof_o),
      .bad_o(c_bad_o),
      .marked_o(c_marked_o),
      .data_o(c_data_o),
      .open_o(c_open)
  );

  frame_check u_data (
      .clk_i,
      .rst_i,
      .restart_i(restart),
      .valid_i(ctl[LINK_VALID] && ctl[LINK_DATA]),
      .sof_i(ctl[LINK_SOF]),
      .eof_i(ctl[LINK_EOF]),
      .err_i(ctl[LINK_ERR]),
      .data_i(data),
      .valid_o(v_valid),
      .sof_o(v_sof),
      .eof_o(v_eof),
      .bad_o(v_bad),
      .marked_o(v_marked),
      .data_o(v_data),
      .open_o(d_open)
  );

  data_fifo u_fifo (
      .clk_i,
      .rst_i,
      .restart_i(restart),
      .valid_i(v_valid),
      .sof_i(v_sof),
      .eof_i(v_eof),
      .bad_i(v_bad || v_marked),
      .data_i(v_data),
      .pop_i(d_pop_i),
      .valid_o(d_valid_o),
      .sof_o(d_sof_o),
      .eof_o(d_eof_o),
      .bad_o(d_bad_o),
      .data_o(d_data_o),
      .credit_o,
      .busy_o(fifo_busy)
  );

  logic transit_ok, inject_ok;
  credit_counter u_credits (
      .clk_i,
      .rst_i,
      .restart_i(restart),
      .credit_i(ctl[LINK_CREDIT]),
      .start_i(start_i && (active || LOOP)),
      .transit_ok_o(transit_ok),
      .inject_ok_o(inject_ok)
  );

  // Nobody listens at the far end of a dead link to the CPU: what is sent there is lost, not queued for ever. A frame
  // that begins while the credits start afresh would not be counted among them.
  assign transit_ok_o = (transit_ok || (!active && !LOOP)) && !restart;
  assign inject_ok_o = inject_ok && !restart;
  assign loop_o = LOOP && active == restart;
  assign active_o = active;
  assign down_o = restart && active;
  assign level_o = {c_open, d_open, state};
  assign busy_o = fifo_busy;
endmodule
