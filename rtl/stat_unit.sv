// The GPU's part in a statistics message, one direction: counts itself in on the fly (R2, R3, R8).
//
// One flit in, at the next cycle one flit out: `count` goes up by one, and where the message carries records
// this GPU's two flits are slipped in before the trailer (the input then waits). Frames whose home is this
// GPU go to its firmware instead of the ring (m_*). With monitor_i, a statistics frame of another origin is
// marked as circulating, and purged when it comes by marked.
//
// A frame already turned round at a dead link is not counted into again: its GPUs have been.
// While frozen_i (the GPU is dead or hangs) nothing moves, nor in the cycle of hold_i; flush_i empties the unit.
module stat_unit
  import ringhil_pkg::*;
#(
    parameter bit PORT2 = 1'b0  // arrivals come from port 2
) (
    input  logic                        clk_i,
    input  logic                        rst_i,
    input  logic                        flush_i,
    input  logic                        hold_i,   // the switch cuts the GPU off just now and will send its frame itself
    input  logic                        frozen_i,
    input  logic [FAULT_PORT_WIDTH-1:0] fault_i,
    input  logic [                 7:0] now_i,  // the low bits of time
    input  logic [                 7:0] card_id_i,
    input  logic [                15:0] node_id_i,
    input  logic                        monitor_i,
    input  logic                        entry_capable_i,
    input  logic                        boundary_i,
    input  logic [                 7:0] gpu_type_i,
    input  logic [                15:0] weight_i,
    input  logic [                 7:0] errors_i,
    input  logic [                 7:0] peer_i,
    input  logic                        valid_i,
    input  logic                        sof_i,
    input  logic                        eof_i,
    input  logic                        bad_i,
    input  logic                        marked_i,
    input  logic [                63:0] data_i,
    output logic                        ack_o,
    output logic                        last_o,
    output logic                        valid_o,
    output logic                        sof_o,
    output logic                        eof_o,
    output logic                        bad_o,
    output logic                        flip_o,
    output logic [                63:0] data_o,
    output logic                        m_valid_o,
    output logic                        m_sof_o,
    output logic                        m_eof_o,
    output logic                        m_bad_o,
    output logic [                63:0] m_data_o,
    output logic                        counted_o,
    output logic                        purged_o,
    output logic                        busy_o
);
  // The flit in hand.
  logic valid_q, sof_q, eof_q, bad_q, marked_q;
  logic [63:0] data_q;
  logic [ 2:0] index_q;  // its place in the frame

  // Places in a statistics frame.
  localparam logic [2:0] HEADER = 3'd0;
  localparam logic [2:0] EPOCH = 3'd1;  // and sequence
  localparam logic [2:0] COUNTS = 3'd2;  // count, records so far, expected, limit of records
  localparam logic [2:0] RECORDS = 3'd4;  // and beyond, up to LAST for all the rest
  localparam logic [2:0] LAST = 3'd7;

  // What the first flit says of the frame.
  logic mine_q, purge_q, count_q, records_q, append_q;
  logic mine, purge, count, mark, foreign;
  logic [15:0] hop_q;
  logic [ 7:0] stamp_q;
  logic [31:0] tag_q;
  logic [1:0] step_q;

  always @* begin
    mine    = mine_q;
    purge   = purge_q;
    count   = count_q;
    mark    = 1'b0;
    foreign = 1'b0;
    if (valid_q && sof_q) begin
      mine    = data_q[55:48] == card_id_i && data_q[15:0] == node_id_i;
      foreign = data_q[63:56] == KIND_STATISTICS && !mine;
      purge = foreign && monitor_i && data_q[32+FLAG_CIRCULATING];
      mark  = foreign && monitor_i;
      count = foreign && !data_q[32+FLAG_WRAPPED];
    end
  end

  logic append;
  logic [15:0] added;
  assign added = fault_i[FAULT_SKIP_COUNT] ? 16'h0 : fault_i[FAULT_DOUBLE_COUNT] ? 16'h2 : 16'h1;

  logic [63:0] record0;
  logic [31:0] record1;  // its second flit, without the tag
  logic [31:0] record1_q;  // as the tag has it: errors may be counted, and registers written, before it leaves
  logic acting, inserting;
  assign acting = valid_q && !frozen_i && !flush_i && !hold_i;
  // Nothing is worked out while no flit is in hand.
  always @* begin
    append    = 1'b0;
    inserting = 1'b0;
    ack_o     = 1'b0;
    valid_o   = 1'b0;
    counted_o = 1'b0;
    purged_o  = 1'b0;
    if (valid_q) begin
      append    = index_q == COUNTS && count && records_q && data_q[47:32] < {1'b0, data_q[14:0]};
      inserting = eof_q && append_q && index_q >= RECORDS;
      ack_o     = acting && (!inserting || step_q == 2'd2);
      valid_o   = acting && !mine && !purge;
      counted_o = ack_o && eof_q && count && !purge && !bad_q && index_q >= RECORDS;
      purged_o  = ack_o && sof_q && purge;
    end
  end

  always @* begin
    record0 = 64'h0;
    record1 = 32'h0;
    if (inserting) begin
      record0 = {
        node_id_i,
        hop_q,
        fault_i[FAULT_SLOW] ? STATE_DEGRADED : STATE_WORKING,
        3'h0,
        marked_q,
        bad_q && !marked_q,
        PORT2,
        boundary_i,
        entry_capable_i,
        gpu_type_i,
        stamp_q
      };
      record1 = {weight_i, errors_i, boundary_i ? peer_i : NO_CARD};
    end
  end

  always @* begin
    data_o = data_q;
    if (valid_q) begin
      if (sof_q && mark) data_o[32+FLAG_CIRCULATING] = 1'b1;
      if (index_q == COUNTS && count) begin
        data_o[63:48] = data_q[63:48] + added;
        if (append) data_o[47:32] = data_q[47:32] + 16'h1;
        else if (records_q) data_o[15] = 1'b1;
      end
      if (inserting && step_q == 2'd0) data_o = record0;
      if (inserting && step_q == 2'd1) data_o = {record1_q, ~tag_q};
    end
  end
  logic mail, m_valid_q, m_sof_q, m_eof_q, m_bad_q;
  logic [63:0] m_data_q;
  assign last_o  = eof_q;
  assign sof_o   = sof_q;
  assign eof_o   = eof_q && (!inserting || step_q == 2'd2);
  assign bad_o   = bad_q;
  assign flip_o  = fault_i[FAULT_CORRUPT] && index_q == COUNTS && !eof_q;
  assign busy_o  = (valid_q && !frozen_i) || m_valid_q;

  // To the mailbox, a cycle later.
  assign mail      = ack_o && mine;
  assign m_valid_o = m_valid_q;
  assign m_sof_o   = m_sof_q;
  assign m_eof_o   = m_eof_q;
  assign m_bad_o   = m_bad_q;
  assign m_data_o  = m_data_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      m_valid_q <= 1'b0;
      m_sof_q   <= 1'b0;
      m_eof_q   <= 1'b0;
      m_bad_q   <= 1'b0;
      m_data_q  <= 64'h0;
    end else begin
      m_valid_q <= mail;
      m_sof_q   <= mail && sof_q;
      m_eof_q   <= mail && eof_q;
      m_bad_q   <= mail && eof_q && bad_q;
      m_data_q  <= mail ? data_q : 64'h0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || flush_i) begin
      valid_q <= 1'b0;
      step_q  <= 2'd0;
    end else begin
      // Also a frozen unit keeps the flit that the switch hands over: should the switch be stuck, the frame goes on later.
      if (!valid_q || ack_o) valid_q <= valid_i;
      if (!frozen_i) step_q <= valid_q && inserting && step_q != 2'd2 ? step_q + 2'd1 : 2'd0;
      if (valid_i) begin
        sof_q    <= sof_i;
        eof_q    <= eof_i;
        bad_q    <= bad_i;
        marked_q <= marked_i;
        data_q   <= data_i;
        if (sof_i) stamp_q <= now_i;
        index_q  <= sof_i ? HEADER : index_q == LAST ? LAST : index_q + 3'd1;
      end
      if (acting) begin
        if (sof_q) begin
          mine_q    <= mine;
          purge_q   <= purge;
          count_q   <= count;
          records_q <= data_q[32+FLAG_WITH_RECORDS];
          append_q  <= 1'b0;
        end
        if (index_q == EPOCH && count_q) tag_q <= crc_flit(CRC_INITIAL, data_q);
        if (index_q == COUNTS) begin
          append_q <= append;
          hop_q    <= data_o[63:48];
        end
        if (inserting && step_q == 2'd0) begin
          tag_q     <= crc_half(crc_flit(tag_q, record0), record1);
          record1_q <= record1;
        end
      end
    end
  end

`ifndef SYNTHESIS
  // The unit holds one flit.
  always @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!valid_i || !valid_q || ack_o || flush_i)
      else $fatal(1, "a flit comes before the one before it is done with");
    end
  end
`endif
endmodule
