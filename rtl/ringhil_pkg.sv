// Constants of the wire format, the register map and the CRC of one flit per cycle.
// Generated from protocol/: do not edit; `make generate` rewrites it.

package ringhil_pkg;

  // A design that uses only some of the constants is not at fault.
  /* verilator lint_off UNUSEDPARAM */

  localparam logic [7:0] KIND_STATISTICS = 8'h11;
  localparam logic [7:0] KIND_KEEPALIVE = 8'h12;
  localparam logic [7:0] KIND_ELECTION = 8'h13;
  localparam logic [7:0] KIND_WORK = 8'h14;
  localparam logic [7:0] KIND_RESULT = 8'h15;
  localparam logic [7:0] KIND_ACKNOWLEDGEMENT = 8'h16;
  localparam logic [7:0] KIND_REPORT = 8'h17;

  localparam int FLAG_CCW = 0;  // bit of the flags field
  localparam int FLAG_WITH_RECORDS = 1;  // bit of the flags field
  localparam int FLAG_TO_HOST = 2;  // bit of the flags field
  localparam int FLAG_LAST = 3;  // bit of the flags field
  localparam int FLAG_CIRCULATING = 8;  // bit of the flags field
  localparam int FLAG_WRAPPED = 9;  // bit of the flags field

  localparam int RECORD_ENTRY_CAPABLE = 0;  // bit of a record's flags
  localparam int RECORD_BOUNDARY = 1;  // bit of a record's flags
  localparam int RECORD_PORT2 = 2;  // bit of a record's flags
  localparam int RECORD_ARRIVED_BAD = 3;  // bit of a record's flags
  localparam int RECORD_ARRIVED_MARKED = 4;  // bit of a record's flags

  localparam logic [7:0] STATE_DOWN = 8'h0;
  localparam logic [7:0] STATE_WORKING = 8'h1;
  localparam logic [7:0] STATE_DEGRADED = 8'h2;
  localparam logic [15:0] ACK_BUSY = 16'h1;
  localparam logic [15:0] ACK_INCOMPLETE = 16'h2;
  localparam logic [15:0] ACK_UNKNOWN_KIND = 16'h3;
  localparam logic [15:0] RESULT_DONE = 16'h0;

  // Fields of a flit that no hop may change: the end-to-end CRC sees the others as zero.
  localparam logic [63:0] E2E_FLIT0 = 64'hFFFF00FF0000FFFF;

  localparam int SEGMENT_FLITS = 32;
  localparam int DATA_FRAME_FLITS = 37;
  localparam logic [31:0] CRC_INITIAL = 32'hFFFFFFFF;

  localparam logic [7:0] REG_CONTROL = 8'h0;
  localparam logic [7:0] REG_GPU_TYPE = 8'h1;
  localparam logic [7:0] REG_WEIGHT = 8'h2;
  localparam logic [7:0] REG_WATCHDOG = 8'h3;
  localparam logic [7:0] REG_HEARTBEAT = 8'h4;
  localparam logic [7:0] REG_ALLOWANCE = 8'h5;
  localparam logic [7:0] REG_ALLOWANCE_PERIOD = 8'h6;
  localparam logic [7:0] REG_LINK_RESTORE = 8'h7;
  localparam logic [7:0] REG_COMPUTE_SETUP = 8'h8;
  localparam logic [7:0] REG_COMPUTE_PER_FLIT = 8'h9;
  localparam logic [7:0] REG_STATUS = 8'h20;
  localparam logic [7:0] REG_FORWARDED = 8'h21;
  localparam logic [7:0] REG_RX_BAD_PORT1 = 8'h22;
  localparam logic [7:0] REG_RX_BAD_PORT2 = 8'h23;
  localparam logic [7:0] REG_MARKED_PORT1 = 8'h24;
  localparam logic [7:0] REG_MARKED_PORT2 = 8'h25;
  localparam logic [7:0] REG_TTL_DROPPED = 8'h26;
  localparam logic [7:0] REG_PURGED = 8'h27;
  localparam logic [7:0] REG_TRIPS = 8'h28;
  localparam logic [7:0] REG_MUTES = 8'h29;
  localparam logic [7:0] REG_WRAPS = 8'h2A;
  localparam logic [7:0] REG_OVERFLOWED = 8'h2B;
  localparam logic [7:0] REG_DATA_BAD = 8'h2C;
  localparam logic [7:0] REG_DATA_DROPPED = 8'h2D;
  localparam logic [7:0] REG_UNITS_DONE = 8'h2E;
  localparam logic [7:0] REG_UNITS_REFUSED = 8'h2F;

  localparam logic [31:0] RESET_CONTROL = 32'h0;
  localparam logic [31:0] RESET_GPU_TYPE = 32'h0;
  localparam logic [31:0] RESET_WEIGHT = 32'h1;
  localparam logic [31:0] RESET_WATCHDOG = 32'h40;
  localparam logic [31:0] RESET_HEARTBEAT = 32'h4000;
  localparam logic [31:0] RESET_ALLOWANCE = 32'h10;
  localparam logic [31:0] RESET_ALLOWANCE_PERIOD = 32'h400;
  localparam logic [31:0] RESET_LINK_RESTORE = 32'h40;
  localparam logic [31:0] RESET_COMPUTE_SETUP = 32'h20;
  localparam logic [31:0] RESET_COMPUTE_PER_FLIT = 32'h1;

  localparam int CONTROL_ENTRY = 0;
  localparam int CONTROL_MONITOR = 1;
  localparam int CONTROL_ENTRY_CAPABLE = 2;
  localparam int CONTROL_BOUNDARY = 3;
  localparam int FAULT_DEAD = 0;
  localparam int FAULT_HANG = 1;
  localparam int FAULT_CORRUPT = 2;
  localparam int FAULT_SKIP_COUNT = 3;
  localparam int FAULT_DOUBLE_COUNT = 4;
  localparam int FAULT_BABBLE = 5;
  localparam int LINK_FAULT_CUT_PORT1 = 0;
  localparam int LINK_FAULT_CUT_PORT2 = 1;
  localparam int LINK_FAULT_CUT_HOST = 2;
  localparam int LINK_VALID = 0;
  localparam int LINK_DATA = 1;
  localparam int LINK_SOF = 2;
  localparam int LINK_EOF = 3;
  localparam int LINK_ERR = 4;
  localparam int LINK_CREDIT = 5;
  localparam int LINK_UP = 6;
  localparam int LINK_FAULT = 7;
  localparam int STATUS_BYPASS_CW = 0;
  localparam int STATUS_BYPASS_CCW = 1;
  localparam int STATUS_TRIPPED = 2;
  localparam int STATUS_MUTED = 3;
  localparam int STATUS_HEALTHY = 4;
  localparam int STATUS_WRAP_PORT1 = 5;
  localparam int STATUS_WRAP_PORT2 = 6;
  localparam int STATUS_HOST_DOWN = 7;
  localparam int FAULT_PORT_WIDTH = 16;

  // Running CRC-32/AUTOSAR (polynomial 0xF4ACFB13, reflected) after one whole flit.
  function automatic logic [31:0] crc_flit(input logic [31:0] state, input logic [63:0] data);
    logic [63:0] x;
    logic [31:0] swapped;
    swapped = {state[7:0], state[15:8], state[23:16], state[31:24]};
    x = data ^ {swapped, 32'h0};
    crc_flit[0] = ^(x & 64'h6B069905797EFB89);
    crc_flit[1] = ^(x & 64'hBC0AAB0E8B820D9A);
    crc_flit[2] = ^(x & 64'h1313CF186F7BE0BD);
    crc_flit[3] = ^(x & 64'h4C200734A7883BF2);
    crc_flit[4] = ^(x & 64'hF346976D376F8C6D);
    crc_flit[5] = ^(x & 64'hE78D2EDB6EDE18DB);
    crc_flit[6] = ^(x & 64'hA51DC4B3A4C2CA3F);
    crc_flit[7] = ^(x & 64'h4A3B88674985957F);
    crc_flit[8] = ^(x & 64'h947610CF920A2BFF);
    crc_flit[9] = ^(x & 64'h43EBB99B5C6BAD77);
    crc_flit[10] = ^(x & 64'h86D67337B9D65AEF);
    crc_flit[11] = ^(x & 64'h67AB7E6B0BD34E57);
    crc_flit[12] = ^(x & 64'hCF56FDD616A69DAE);
    crc_flit[13] = ^(x & 64'hF5AB63A85432C0D4);
    crc_flit[14] = ^(x & 64'h81515E55D01A7B20);
    crc_flit[15] = ^(x & 64'h03A3BCAAA035F640);
    crc_flit[16] = ^(x & 64'h06467955416BEC81);
    crc_flit[17] = ^(x & 64'h678A6BAFFBA8238A);
    crc_flit[18] = ^(x & 64'hA5124E5B8E2FBC9D);
    crc_flit[19] = ^(x & 64'h212305B3652183B2);
    crc_flit[20] = ^(x & 64'h28409363B23CFDEC);
    crc_flit[21] = ^(x & 64'h3A86BFC21D070150);
    crc_flit[22] = ^(x & 64'h740C7F853B0E02A0);
    crc_flit[23] = ^(x & 64'h831E670F0E62FFC9);
    crc_flit[24] = ^(x & 64'h6C3B571B65BA051A);
    crc_flit[25] = ^(x & 64'hD876AE36CA740B34);
    crc_flit[26] = ^(x & 64'hB0ED5C6D94E91668);
    crc_flit[27] = ^(x & 64'h60DBB9DA28D32DD0);
    crc_flit[28] = ^(x & 64'hABB0EAB028D8A029);
    crc_flit[29] = ^(x & 64'h5761D56151B04153);
    crc_flit[30] = ^(x & 64'hAFC2AAC3A26083A6);
    crc_flit[31] = ^(x & 64'h3583CC823CBFFDC4);
  endfunction

  // The same after half a flit.
  function automatic logic [31:0] crc_half(input logic [31:0] state, input logic [31:0] data);
    logic [31:0] x;
    logic [31:0] swapped;
    swapped = {state[7:0], state[15:8], state[23:16], state[31:24]};
    x = data ^ swapped;
    crc_half[0] = ^(x & 32'h797EFB89);
    crc_half[1] = ^(x & 32'h8B820D9A);
    crc_half[2] = ^(x & 32'h6F7BE0BD);
    crc_half[3] = ^(x & 32'hA7883BF2);
    crc_half[4] = ^(x & 32'h376F8C6D);
    crc_half[5] = ^(x & 32'h6EDE18DB);
    crc_half[6] = ^(x & 32'hA4C2CA3F);
    crc_half[7] = ^(x & 32'h4985957F);
    crc_half[8] = ^(x & 32'h920A2BFF);
    crc_half[9] = ^(x & 32'h5C6BAD77);
    crc_half[10] = ^(x & 32'hB9D65AEF);
    crc_half[11] = ^(x & 32'h0BD34E57);
    crc_half[12] = ^(x & 32'h16A69DAE);
    crc_half[13] = ^(x & 32'h5432C0D4);
    crc_half[14] = ^(x & 32'hD01A7B20);
    crc_half[15] = ^(x & 32'hA035F640);
    crc_half[16] = ^(x & 32'h416BEC81);
    crc_half[17] = ^(x & 32'hFBA8238A);
    crc_half[18] = ^(x & 32'h8E2FBC9D);
    crc_half[19] = ^(x & 32'h652183B2);
    crc_half[20] = ^(x & 32'hB23CFDEC);
    crc_half[21] = ^(x & 32'h1D070150);
    crc_half[22] = ^(x & 32'h3B0E02A0);
    crc_half[23] = ^(x & 32'h0E62FFC9);
    crc_half[24] = ^(x & 32'h65BA051A);
    crc_half[25] = ^(x & 32'hCA740B34);
    crc_half[26] = ^(x & 32'h94E91668);
    crc_half[27] = ^(x & 32'h28D32DD0);
    crc_half[28] = ^(x & 32'h28D8A029);
    crc_half[29] = ^(x & 32'h51B04153);
    crc_half[30] = ^(x & 32'hA26083A6);
    crc_half[31] = ^(x & 32'h3CBFFDC4);
  endfunction

  /* verilator lint_on UNUSEDPARAM */
endpackage
