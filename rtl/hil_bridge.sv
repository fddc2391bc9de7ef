// A GPU (ring_cell) whose ring is elsewhere: takes the inputs of one cycle from a line of bytes, clocks the GPU once, and
// answers with its outputs. Messages, rows and repeated requests: protocol/line/node_loop.py.
//
// The GPU's clock is a register, high for one clk_i in each of its cycles. Its inputs are there SETTLE clk_i before the
// edge, and its outputs are looked at SETTLE clk_i after it, and after a change of its inputs: so many may its paths take.
// What was seen stands as long before it is used. The GPU may rest for as long as the line does.
//
// The rows of inputs and outputs lie all over a chip. So what goes to many of their bytes, or comes from one of many, does
// so by registers, a clk_i later: a path is long or has much to decide, not both.
module hil_bridge
  import ringhil_pkg::*;
(
    input  logic       clk_i,
    input  logic       rst_i,
    input  logic       rx_valid_i,
    input  logic [7:0] rx_data_i,
    output logic       rx_ready_o,
    output logic       tx_valid_o,
    output logic [7:0] tx_data_o,
    input  logic       tx_ready_i,
    output logic       idle_o       // nothing goes on until a byte comes
);
  localparam int LOG2 = $clog2(HIL_ROOM);
  localparam logic [3:0] SETTLE = 4;
  localparam int IN = 8 * HIL_IN_GROUPS;  // bytes
  localparam int OUT = 8 * HIL_OUT_GROUPS;
  localparam int HELLO_BITS = 72;
  localparam logic [HELLO_BITS-1:0] HELLO = {
    HIL_MAJOR, HIL_MINOR, HIL_LAYOUT, 8'(DATA_SLOTS), HIL_LONGEST_FRAME
  };
  localparam logic [3:0] HELLO_LAST = 4'(HELLO_BITS / 8 - 1);

  typedef enum logic [3:0] {
    WAITS,
    KIND,
    SEQUENCE,
    GROUPS,
    GROUP,
    PUT,
    STANDS,   // what the GPU is given
    FOLLOWS,  // the GPU, its clock
    BEGIN,    // an answer
    ANSWER,
    NUMBER,
    FIXED,    // an answer without a row
    CHANGED,
    DIFFERS,
    GET,
    SEND
  } state_e;

  state_e state_q;
  logic [7:0] kind_q, number_q, sequence_q, why_q, bytes_q;
  logic [15:0] groups_q;
  logic [3:0] group_q, count_q;
  logic [2:0] byte_q;
  logic [LOG2-1:0] place_q;
  logic sending_q, clk_q, look_q, rst_q, alive_q, answered_q;
  logic forget_q, now_q, keep_q;  // the rows become those of a reset; a cycle has begun; what was seen is sent
  logic [IN-1:0] put_q;  // the byte of the inputs that becomes given_q
  logic [7:0] given_q;

  logic message, bad, done, clear, push, push_q, send, damaged, busy, takes;
  logic [7:0] heard, pushed, pushed_q;
  logic [LOG2-1:0] place;
  logic [LOG2:0] length;

  logic [8*IN-1:0] in_q;
  logic [8*OUT-1:0] out, seen, sent_q;
  logic [OUT-1:0] differs_q;
  logic [15:0] changed;
  logic [6:0] at;
  logic unused_ok;
  assign unused_ok = &{in_q[8*HIL_IN_MTX_CTL+5+:3], in_q[8*HIL_IN_REG_WE+1+:7], in_q[8*IN-1-:8]};

  // ------------------------------------------------------------------------------------------------ the line
  hil_rx u_rx (
      .clk_i,
      .rst_i,
      .valid_i  (rx_valid_i),
      .data_i   (rx_data_i),
      .ready_o  (rx_ready_o),
      .message_o(message),
      .bad_o    (bad),
      .length_o (length),
      .done_i   (done),
      .place_i  (place),
      .byte_o   (heard)
  );

  hil_tx u_tx (
      .clk_i,
      .rst_i,
      .clear_i  (clear),
      .push_i   (push_q),
      .data_i   (pushed_q),
      .send_i   (send),
      .damaged_i(damaged),
      .busy_o   (busy),
      .valid_o  (tx_valid_o),
      .data_o   (tx_data_o),
      .ready_i  (tx_ready_i)
  );

  assign idle_o  = state_q == WAITS && !message && !busy;
  assign done    = state_q == SEND && sending_q && !busy;
  assign clear   = state_q == BEGIN;
  assign send    = state_q == SEND && !sending_q && !push_q;
  assign damaged = state_q == WAITS && bad;

  // heard is the byte at place_q.
  always @* begin
    case (state_q)
      KIND, SEQUENCE, GROUPS: takes = 1'b1;
      GROUP:                  takes = groups_q[0] && group_q < 4'(HIL_IN_GROUPS);
      PUT:                    takes = bytes_q[0];
      default:                takes = 1'b0;
    endcase
  end
  assign place = state_q == WAITS ? '0 : place_q + LOG2'(takes);

  // ------------------------------------------------------------------------------------------------- the GPU
  ring_cell u_cell (
      .clk_i             (clk_q),
      .rst_i             (rst_q),
      .now_i             (in_q[8*HIL_IN_NOW+:64]),
      .card_id_i         (in_q[8*HIL_IN_CARD_ID+:8]),
      .node_id_i         (in_q[8*HIL_IN_NODE_ID+:16]),
      .ring_size_i       (in_q[8*HIL_IN_RING_SIZE+:16]),
      .fault_i           (in_q[8*HIL_IN_FAULT+:FAULT_PORT_WIDTH]),
      .link_fault_i      (in_q[8*HIL_IN_LINK_FAULT+:8]),
      .ber_port1_i       (in_q[8*HIL_IN_BER_PORT1+:16]),
      .ber_port2_i       (in_q[8*HIL_IN_BER_PORT2+:16]),
      .ber_host_i        (in_q[8*HIL_IN_BER_HOST+:16]),
      .ber_boundary_i    (in_q[8*HIL_IN_BER_BOUNDARY+:16]),
      .link_delay_i      (in_q[8*HIL_IN_LINK_DELAY+:32]),
      .p1_rx_data_i      (in_q[8*HIL_IN_P1_DATA+:64]),
      .p1_rx_ctl_i       (in_q[8*HIL_IN_P1_CTL+:8]),
      .p1_tx_data_o      (out[8*HIL_OUT_P1_DATA+:64]),
      .p1_tx_ctl_o       (out[8*HIL_OUT_P1_CTL+:8]),
      .p2_rx_data_i      (in_q[8*HIL_IN_P2_DATA+:64]),
      .p2_rx_ctl_i       (in_q[8*HIL_IN_P2_CTL+:8]),
      .p2_tx_data_o      (out[8*HIL_OUT_P2_DATA+:64]),
      .p2_tx_ctl_o       (out[8*HIL_OUT_P2_CTL+:8]),
      .host_rx_data_i    (in_q[8*HIL_IN_HOST_DATA+:64]),
      .host_rx_ctl_i     (in_q[8*HIL_IN_HOST_CTL+:8]),
      .host_tx_data_o    (out[8*HIL_OUT_HOST_DATA+:64]),
      .host_tx_ctl_o     (out[8*HIL_OUT_HOST_CTL+:8]),
      .boundary_rx_data_i(in_q[8*HIL_IN_BOUNDARY_DATA+:64]),
      .boundary_rx_ctl_i (in_q[8*HIL_IN_BOUNDARY_CTL+:8]),
      .boundary_tx_data_o(out[8*HIL_OUT_BOUNDARY_DATA+:64]),
      .boundary_tx_ctl_o (out[8*HIL_OUT_BOUNDARY_CTL+:8]),
      .mtx_valid_i       (in_q[8*HIL_IN_MTX_CTL]),
      .mtx_sof_i         (in_q[8*HIL_IN_MTX_CTL+1]),
      .mtx_eof_i         (in_q[8*HIL_IN_MTX_CTL+2]),
      .mtx_port_i        (in_q[8*HIL_IN_MTX_CTL+3+:2]),
      .mtx_data_i        (in_q[8*HIL_IN_MTX_DATA+:64]),
      .mtx_ready_o       (out[8*HIL_OUT_MTX_READY]),
      .mrx0_data_o       (out[8*HIL_OUT_MRX0_DATA+:64]),
      .mrx0_ctl_o        (out[8*HIL_OUT_MRX_CTL+:4]),
      .mrx1_data_o       (out[8*HIL_OUT_MRX1_DATA+:64]),
      .mrx1_ctl_o        (out[8*HIL_OUT_MRX_CTL+4+:4]),
      .mrx2_data_o       (out[8*HIL_OUT_MRX2_DATA+:64]),
      .mrx2_ctl_o        (out[8*HIL_OUT_MRX_CTL+8+:4]),
      .mrx3_data_o       (out[8*HIL_OUT_MRX3_DATA+:64]),
      .mrx3_ctl_o        (out[8*HIL_OUT_MRX_CTL+12+:4]),
      .reg_we_i          (in_q[8*HIL_IN_REG_WE]),
      .reg_addr_i        (in_q[8*HIL_IN_REG_ADDR+:8]),
      .reg_wdata_i       (in_q[8*HIL_IN_REG_WDATA+:32]),
      .reg_rdata_o       (out[8*HIL_OUT_REG_RDATA+:32]),
      .quiescent_o       (out[8*HIL_OUT_QUIESCENT]),
      .wake_at_o         (out[8*HIL_OUT_WAKE_AT+:64])
  );
  assign out[8*HIL_OUT_MTX_READY+1+:7] = '0;
  assign out[8*HIL_OUT_QUIESCENT+1+:7] = '0;
  assign out[8*OUT-1:8*HIL_OUT_REG_RDATA+32] = '0;

  hil_look #(
      .WIDTH(8 * OUT)
  ) u_look (
      .clk_i (look_q),
      .data_i(out),
      .data_o(seen)
  );

  for (genvar i = 0; i < 16; i++) begin : g_changed
    if (i < HIL_OUT_GROUPS) begin : g_group
      assign changed[i] = differs_q[8*i+:8] != 8'h00;
    end else begin : g_none
      assign changed[i] = 1'b0;
    end
  end

  // --------------------------------------------------------------------------------------------- the answer
  assign at = {group_q, byte_q};
  always @* begin
    push = 1'b1;
    case (state_q)
      ANSWER:  pushed = kind_q;
      NUMBER:  pushed = number_q;
      FIXED:   pushed = kind_q == HIL_REFUSED ? why_q : HELLO[HELLO_BITS-1-8*count_q-:8];
      CHANGED: begin
        pushed = count_q == 4'h1 ? changed[15:8] : changed[7:0];
        push   = count_q != 4'h0;
      end
      DIFFERS: begin
        pushed = differs_q[8*group_q+:8];
        push   = changed[group_q];
      end
      GET: begin
        pushed = seen[8*at+:8];
        push   = bytes_q[0];
      end
      default: begin
        pushed = 8'h00;
        push   = 1'b0;
      end
    endcase
  end

  // ------------------------------------------------------------------------------------------- one after another
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q    <= WAITS;
      kind_q     <= 8'h00;
      number_q   <= 8'h00;
      sequence_q <= 8'h00;
      why_q      <= 8'h00;
      bytes_q    <= 8'h00;
      groups_q   <= 16'h0;
      group_q    <= 4'h0;
      count_q    <= 4'h0;
      byte_q     <= 3'h0;
      place_q    <= '0;
      sending_q  <= 1'b0;
      clk_q      <= 1'b0;
      look_q     <= 1'b0;
      rst_q      <= 1'b0;
      alive_q    <= 1'b0;
      answered_q <= 1'b0;
      forget_q   <= 1'b0;
      now_q      <= 1'b0;
      keep_q     <= 1'b0;
      put_q      <= '0;
      push_q     <= 1'b0;
    end else begin
      place_q  <= place;
      push_q   <= push;
      forget_q <= 1'b0;
      now_q    <= 1'b0;
      keep_q   <= 1'b0;
      put_q    <= '0;
      unique case (state_q)
        WAITS: begin
          count_q <= 4'h0;
          group_q <= 4'h0;
          if (message && !busy) state_q <= KIND;
        end
        KIND: begin
          kind_q  <= heard;
          state_q <= SEQUENCE;
        end
        SEQUENCE: begin
          number_q <= heard;
          kind_q   <= HIL_REFUSED;
          state_q  <= BEGIN;
          if (length < (LOG2 + 1)'(2)) why_q <= HIL_WHY_BAD_LENGTH;
          else if (kind_q == HIL_HELLO) begin
            kind_q     <= HIL_HELLO_REPLY;
            sequence_q <= heard;
            answered_q <= 1'b0;
          end else if (answered_q && heard == sequence_q) state_q <= SEND;
          else if (heard != sequence_q + 8'h01) why_q <= HIL_WHY_OUT_OF_ORDER;
          else if (kind_q != HIL_RESET && kind_q != HIL_STEP && kind_q != HIL_LOOK) why_q <= HIL_WHY_UNKNOWN_TYPE;
          else if (kind_q != HIL_RESET && !alive_q) why_q <= HIL_WHY_NOT_RESET;
          else begin
            kind_q     <= kind_q;
            sequence_q <= heard;
            answered_q <= 1'b1;
            state_q    <= GROUPS;
            if (kind_q == HIL_RESET) begin
              forget_q <= 1'b1;
              rst_q    <= 1'b1;
              alive_q  <= 1'b0;
            end else now_q <= kind_q == HIL_STEP;
          end
        end
        GROUPS: begin
          groups_q <= {groups_q[7:0], heard};
          count_q  <= count_q + 1'b1;
          if (count_q != 4'h0) state_q <= GROUP;
        end
        GROUP: begin
          byte_q <= 3'h0;
          if (groups_q[0] && group_q < 4'(HIL_IN_GROUPS)) begin
            bytes_q <= heard;
            state_q <= PUT;
          end else if (groups_q[15:1] != 15'h0 && !groups_q[0]) begin
            groups_q <= groups_q >> 1;
            group_q  <= group_q + 1'b1;
          end else if (groups_q[0] || (LOG2 + 1)'(place_q) != length) begin
            kind_q  <= HIL_REFUSED;
            why_q   <= HIL_WHY_BAD_LENGTH;
            alive_q <= 1'b0;
            rst_q   <= 1'b0;
            state_q <= BEGIN;
          end else begin
            count_q <= 4'h0;
            state_q <= STANDS;
          end
        end
        PUT: begin
          if (bytes_q[0]) put_q[at] <= 1'b1;
          bytes_q <= bytes_q >> 1;
          byte_q  <= byte_q + 1'b1;
          if (byte_q == 3'h7) begin
            groups_q[0] <= 1'b0;
            state_q     <= GROUP;
          end
        end
        STANDS: begin
          count_q <= count_q + 1'b1;
          if (count_q == SETTLE - 4'h1) begin
            count_q <= 4'h0;
            if (rst_q || kind_q == HIL_STEP) begin
              clk_q   <= 1'b1;
              state_q <= FOLLOWS;
            end else begin
              look_q  <= 1'b1;
              kind_q  <= kind_q == HIL_RESET ? HIL_RESET_REPLY : HIL_LOOK_REPLY;
              state_q <= BEGIN;
            end
          end
        end
        FOLLOWS: begin
          clk_q   <= 1'b0;
          count_q <= count_q + 1'b1;
          if (count_q == SETTLE - 4'h1) begin
            count_q <= 4'h0;
            alive_q <= 1'b1;
            if (rst_q) begin
              rst_q   <= !alive_q;  // a reset has two edges
              state_q <= STANDS;
            end else begin
              look_q  <= 1'b1;
              kind_q  <= HIL_STEP_REPLY;
              state_q <= BEGIN;
            end
          end
        end
        BEGIN: begin
          if (kind_q == HIL_REFUSED) answered_q <= 1'b0;
          look_q  <= 1'b0;
          count_q <= 4'h0;
          group_q <= 4'h0;
          state_q <= ANSWER;
        end
        ANSWER: state_q <= NUMBER;
        NUMBER: state_q <= kind_q == HIL_HELLO_REPLY || kind_q == HIL_REFUSED ? FIXED : CHANGED;
        FIXED: begin
          count_q <= count_q + 1'b1;
          if (kind_q == HIL_REFUSED || count_q == HELLO_LAST) state_q <= SEND;
        end
        CHANGED: begin
          count_q <= count_q + 1'b1;
          if (count_q == 4'h2) state_q <= DIFFERS;
        end
        DIFFERS: begin
          bytes_q <= differs_q[8*group_q+:8];
          byte_q  <= 3'h0;
          if (changed[group_q]) state_q <= GET;
          else begin
            group_q <= group_q + 1'b1;
            if (group_q == 4'(HIL_OUT_GROUPS - 1)) begin
              keep_q  <= 1'b1;
              state_q <= SEND;
            end
          end
        end
        GET: begin
          bytes_q <= bytes_q >> 1;
          byte_q  <= byte_q + 1'b1;
          if (byte_q == 3'h7) begin
            group_q <= group_q + 1'b1;
            state_q <= DIFFERS;
            if (group_q == 4'(HIL_OUT_GROUPS - 1)) begin
              keep_q  <= 1'b1;
              state_q <= SEND;
            end
          end
        end
        default: begin  // SEND
          sending_q <= send || (sending_q && busy);
          if (done) state_q <= WAITS;
        end
      endcase
    end
  end

  // ---------------------------------------------------------------------------------------------------- the rows
  always_ff @(posedge clk_i) begin
    given_q  <= heard;
    pushed_q <= pushed;
    if (rst_i || forget_q) begin
      in_q   <= '0;
      sent_q <= '0;
    end else begin
      if (now_q) in_q[8*HIL_IN_NOW+:64] <= in_q[8*HIL_IN_NOW+:64] + 64'h1;
      for (int i = 0; i < IN; i++) if (put_q[i]) in_q[8*i+:8] <= given_q;
      if (keep_q) sent_q <= seen;
    end
    if (state_q == CHANGED && count_q == 4'h0) begin
      for (int i = 0; i < OUT; i++) differs_q[i] <= seen[8*i+:8] != sent_q[8*i+:8];
    end
  end
endmodule
