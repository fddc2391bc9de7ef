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
  localparam logic [15:0] ACK_NO_CONTEXT = 16'h4;
  localparam logic [15:0] ACK_FOREIGN = 16'h5;
  localparam logic [15:0] ACK_EXISTS = 16'h6;
  localparam logic [15:0] RESULT_DONE = 16'h0;
  localparam logic [15:0] RESULT_OVER_LIMIT = 16'h1;
  localparam logic [15:0] RESULT_NO_MEMORY = 16'h2;
  localparam logic [15:0] RESULT_INVALID = 16'h3;
  localparam logic [15:0] RESULT_RUNNING = 16'h4;
  localparam logic [15:0] RESULT_CANCELLED = 16'h5;
  localparam logic [15:0] RESULT_STARTED = 16'h6;
  localparam logic [7:0] COMPUTE_DIGEST = 8'h0;
  localparam logic [7:0] COMPUTE_CREATE = 8'h10;
  localparam logic [7:0] COMPUTE_DESTROY = 8'h11;
  localparam logic [7:0] COMPUTE_CONFIGURE = 8'h12;
  localparam logic [7:0] COMPUTE_ALLOCATE = 8'h13;
  localparam logic [7:0] COMPUTE_FREE = 8'h14;
  localparam logic [7:0] COMPUTE_COPY = 8'h15;
  localparam logic [7:0] COMPUTE_LAUNCH = 8'h16;
  localparam logic [7:0] COMPUTE_CANCEL = 8'h17;
  localparam logic [7:0] COMPUTE_QUERY = 8'h18;
  localparam logic [31:0] QUERY_MEMORY = 32'h0;
  localparam logic [31:0] QUERY_RUN_TIME = 32'h1;
  localparam logic [31:0] QUERY_COUNTS = 32'h2;
  localparam logic [31:0] QUERY_LAUNCH = 32'h3;
  localparam logic [31:0] QUERY_GPU = 32'h4;
  localparam logic [31:0] QUERY_ENERGY = 32'h5;
  localparam logic [31:0] QUERY_BUSY = 32'h6;
  localparam int MAX_CONTEXTS = 16;  // of a compute engine
  localparam int COMMAND_BYTES = 16;  // before a command's data
  localparam logic [7:0] NO_CARD = 8'hFF;

  // What a compute engine keeps of a unit to answer it: a field is reply[REPLY_X +: REPLY_X_BITS].
  localparam int REPLY_UNIT = 0;
  localparam int REPLY_UNIT_BITS = 64;
  localparam int REPLY_HOME = 64;
  localparam int REPLY_HOME_BITS = 16;
  localparam int REPLY_ATTEMPT = 80;
  localparam int REPLY_ATTEMPT_BITS = 16;
  localparam int REPLY_CARD = 96;
  localparam int REPLY_CARD_BITS = 8;
  localparam int REPLY_FROM = 104;
  localparam int REPLY_FROM_BITS = 2;
  localparam int REPLY_BITS = 106;

  localparam int CROSSINGS = 12;  // lowest of the four flags that count
  localparam logic [3:0] MAX_CROSSINGS = 4'hF;
  // Fields of a flit that no hop may change: the end-to-end CRC sees the others as zero.
  localparam logic [63:0] E2E_FLIT0 = 64'hFFFF00FF0000FFFF;

  localparam int SEGMENT_FLITS = 32;
  localparam int DATA_FRAME_FLITS = 37;
  localparam int DATA_SLOTS = 3;
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
  localparam logic [7:0] REG_GPU_RESTORE = 8'hA;
  localparam logic [7:0] REG_BOUNDARY_PEER = 8'hB;
  localparam logic [7:0] REG_CROSSINGS = 8'hC;
  localparam logic [7:0] REG_EXITS = 8'hD;
  localparam logic [7:0] REG_MEMORY = 8'hE;
  localparam logic [7:0] REG_DEVICE_MEMORY = 8'hF;
  localparam logic [7:0] REG_CONTEXT_SWITCH = 8'h10;
  localparam logic [7:0] REG_DEFAULT_SLICE = 8'h11;
  localparam logic [7:0] REG_RUN_POWER = 8'h12;
  localparam logic [7:0] REG_IDLE_POWER = 8'h13;
  localparam logic [7:0] REG_LOW_POWER = 8'h14;
  localparam logic [7:0] REG_OFF_POWER = 8'h15;
  localparam logic [7:0] REG_LOW_AFTER = 8'h16;
  localparam logic [7:0] REG_OFF_AFTER = 8'h17;
  localparam logic [7:0] REG_LOW_WAKE = 8'h18;
  localparam logic [7:0] REG_OFF_WAKE = 8'h19;
  localparam logic [7:0] REG_LENT = 8'h1A;
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
  localparam logic [7:0] REG_CROSSED = 8'h30;
  localparam logic [7:0] REG_STALLED = 8'h31;
  localparam logic [7:0] REG_CONTEXTS = 8'h32;
  localparam logic [7:0] REG_MEMORY_HELD = 8'h33;
  localparam logic [7:0] REG_TURN = 8'h34;
  localparam logic [7:0] REG_POWER_STATE = 8'h35;
  localparam logic [7:0] REG_ENERGY_LOW = 8'h36;
  localparam logic [7:0] REG_ENERGY_HIGH = 8'h37;
  localparam logic [7:0] REG_BUSY_LOW = 8'h38;
  localparam logic [7:0] REG_BUSY_HIGH = 8'h39;

  localparam logic [31:0] RESET_CONTROL = 32'h0;
  localparam logic [31:0] RESET_GPU_TYPE = 32'h0;
  localparam logic [31:0] RESET_WEIGHT = 32'h1;
  localparam logic [31:0] RESET_WATCHDOG = 32'h40;
  localparam logic [31:0] RESET_HEARTBEAT = 32'h4000;
  localparam logic [31:0] RESET_ALLOWANCE = 32'h10;
  localparam logic [31:0] RESET_ALLOWANCE_PERIOD = 32'h400;
  localparam logic [31:0] RESET_LINK_RESTORE = 32'h88;
  localparam logic [31:0] RESET_COMPUTE_SETUP = 32'h20;
  localparam logic [31:0] RESET_COMPUTE_PER_FLIT = 32'h1;
  localparam logic [31:0] RESET_GPU_RESTORE = 32'h40;
  localparam logic [31:0] RESET_BOUNDARY_PEER = 32'hFF;
  localparam logic [31:0] RESET_CROSSINGS = 32'h0;
  localparam logic [31:0] RESET_EXITS = 32'h0;
  localparam logic [31:0] RESET_MEMORY = 32'h0;
  localparam logic [31:0] RESET_DEVICE_MEMORY = 32'h10000;
  localparam logic [31:0] RESET_CONTEXT_SWITCH = 32'h96;
  localparam logic [31:0] RESET_DEFAULT_SLICE = 32'h7D0;
  localparam logic [31:0] RESET_RUN_POWER = 32'h0;
  localparam logic [31:0] RESET_IDLE_POWER = 32'h0;
  localparam logic [31:0] RESET_LOW_POWER = 32'h0;
  localparam logic [31:0] RESET_OFF_POWER = 32'h0;
  localparam logic [31:0] RESET_LOW_AFTER = 32'h0;
  localparam logic [31:0] RESET_OFF_AFTER = 32'h0;
  localparam logic [31:0] RESET_LOW_WAKE = 32'h0;
  localparam logic [31:0] RESET_OFF_WAKE = 32'h0;
  localparam logic [31:0] RESET_LENT = 32'h0;

  localparam logic [2:0] POWER_RUNNING = 3'h1;
  localparam logic [2:0] POWER_IDLE = 3'h2;
  localparam logic [2:0] POWER_LOW = 3'h3;
  localparam logic [2:0] POWER_OFF = 3'h4;
  localparam int CONTROL_ENTRY = 0;
  localparam int CONTROL_MONITOR = 1;
  localparam int CONTROL_ENTRY_CAPABLE = 2;
  localparam int CONTROL_BOUNDARY = 3;
  localparam int CONTROL_FROM_ABOVE = 4;
  localparam int FAULT_DEAD = 0;
  localparam int FAULT_HANG = 1;
  localparam int FAULT_CORRUPT = 2;
  localparam int FAULT_SKIP_COUNT = 3;
  localparam int FAULT_DOUBLE_COUNT = 4;
  localparam int FAULT_BABBLE = 5;
  localparam int FAULT_DUPLICATE_ID = 6;
  localparam int FAULT_SLOW = 7;
  localparam int FAULT_SWITCH_STUCK_THROUGH = 8;
  localparam int FAULT_SWITCH_STUCK_BYPASS = 9;
  localparam int FAULT_KEEPALIVE_LOSS = 10;
  localparam int LINK_FAULT_CUT_PORT1 = 0;
  localparam int LINK_FAULT_CUT_PORT2 = 1;
  localparam int LINK_FAULT_CUT_HOST = 2;
  localparam int LINK_FAULT_CUT_BOUNDARY = 3;
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
  localparam int STATUS_BOUNDARY_DOWN = 8;
  localparam int STATUS_RESTORING = 9;
  localparam int STATUS_STUCK = 10;
  localparam int STATUS_DEGRADED = 11;
  localparam int STATUS_LENT = 12;
  localparam int TURN_TAKEN = 8;
  localparam int TURN_SWITCHING = 9;
  localparam int FAULT_PORT_WIDTH = 16;

  // Places in a node's vectors: ports, lanes, and the ways on which the data channel brings a frame.
  localparam int PORT_P1 = 0;
  localparam int PORT_P2 = 1;
  localparam int PORT_HOST = 2;
  localparam int PORT_BOUNDARY = 3;
  localparam int LANE_CW = 0;
  localparam int LANE_CCW = 1;
  localparam int WAY_CW = 0;
  localparam int WAY_CCW = 1;
  localparam int WAY_HOST = 2;
  localparam int WAY_CARD = 3;
  localparam int WAY_GPU = 4;

  // Running CRC-32/AUTOSAR (polynomial 0xF4ACFB13, reflected) after one whole flit: w holds the bits in the
  // order sent, first in bit 0; q is the top of w divided by the polynomial; then comes the remainder.
  // Shifts that several terms of a sum share are worked out once (w1, q1, ...).
  function automatic logic [31:0] crc_flit(input logic [31:0] state, input logic [63:0] data);
    logic [63:0] w, w1, w2, w3, w4, w5;
    logic [31:0] q, q1, q2, q3, q4;
    w = {data[7:0], data[15:8], data[23:16], data[31:24], data[39:32], data[47:40], data[55:48], data[63:56]}
        ^ 64'(state);
    w1 = w ^ (w << 1);
    w2 = w1 ^ (w1 << 32);
    w3 = w2 ^ (w2 << 14);
    w4 = w1 ^ (w1 << 18);
    w5 = w4 ^ (w << 38);
    q = 32'(((w << 5) ^ (w << 32) ^ (w << 61) ^ (w << 63) ^ (w1 << 15) ^ (w1 << 20)
        ^ (w3 << 8) ^ (w3 << 12) ^ w5 ^ (w5 << 10)) >> 32);
    q1 = q ^ (q >> 17);
    q2 = q1 ^ (q1 >> 3);
    q3 = q2 ^ (q >> 14);
    q4 = q ^ (q3 >> 1);
    crc_flit = (q >> 19) ^ (q1 >> 13) ^ (q2 >> 11) ^ q4 ^ (q4 >> 8);
  endfunction

  // The same after half a flit.
  function automatic logic [31:0] crc_half(input logic [31:0] state, input logic [31:0] data);
    logic [31:0] w, w1, w2, w3;
    logic [31:0] q, q1, q2, q3, q4;
    w = {data[7:0], data[15:8], data[23:16], data[31:24]}
        ^ 32'(state);
    w1 = w ^ (w << 1);
    w2 = w1 ^ (w1 << 18);
    w3 = w2 ^ (w1 << 12);
    q = (w << 5) ^ (w1 << 15) ^ w3 ^ (w3 << 8) ^ (w3 << 10);
    q1 = q ^ (q >> 17);
    q2 = q1 ^ (q1 >> 3);
    q3 = q2 ^ (q >> 14);
    q4 = q ^ (q3 >> 1);
    crc_half = (q >> 19) ^ (q1 >> 13) ^ (q2 >> 11) ^ q4 ^ (q4 >> 8);
  endfunction

  // The line to a node outside: messages, the rows of bytes, and the running CRC after one byte.
  localparam logic [7:0] HIL_HELLO = 8'h1;
  localparam logic [7:0] HIL_RESET = 8'h2;
  localparam logic [7:0] HIL_STEP = 8'h3;
  localparam logic [7:0] HIL_LOOK = 8'h4;
  localparam logic [7:0] HIL_HELLO_REPLY = 8'h81;
  localparam logic [7:0] HIL_RESET_REPLY = 8'h82;
  localparam logic [7:0] HIL_STEP_REPLY = 8'h83;
  localparam logic [7:0] HIL_LOOK_REPLY = 8'h84;
  localparam logic [7:0] HIL_DAMAGED = 8'hC0;
  localparam logic [7:0] HIL_REFUSED = 8'hFF;
  localparam logic [7:0] HIL_WHY_UNKNOWN_TYPE = 8'h1;
  localparam logic [7:0] HIL_WHY_OUT_OF_ORDER = 8'h2;
  localparam logic [7:0] HIL_WHY_NOT_RESET = 8'h3;
  localparam logic [7:0] HIL_WHY_BAD_LENGTH = 8'h4;
  localparam logic [7:0] HIL_MAJOR = 8'h1;
  localparam logic [7:0] HIL_MINOR = 8'h0;
  localparam logic [31:0] HIL_LAYOUT = 32'h26F2F6CB;
  localparam logic [15:0] HIL_LONGEST_FRAME = 16'h805;
  localparam int HIL_ROOM = 128;
  localparam int HIL_DAMAGED_BYTES = 8;
  localparam logic [63:0] HIL_DAMAGED_FRAME = 64'h000E467904C00600;
  localparam int HIL_IN_GROUPS = 10;
  localparam int HIL_IN_NOW = 0;
  localparam int HIL_IN_P1_DATA = 8;
  localparam int HIL_IN_P2_DATA = 16;
  localparam int HIL_IN_HOST_DATA = 24;
  localparam int HIL_IN_BOUNDARY_DATA = 32;
  localparam int HIL_IN_MTX_DATA = 40;
  localparam int HIL_IN_P1_CTL = 48;
  localparam int HIL_IN_P2_CTL = 49;
  localparam int HIL_IN_HOST_CTL = 50;
  localparam int HIL_IN_BOUNDARY_CTL = 51;
  localparam int HIL_IN_MTX_CTL = 52;
  localparam int HIL_IN_REG_WE = 53;
  localparam int HIL_IN_REG_ADDR = 54;
  localparam int HIL_IN_LINK_FAULT = 55;
  localparam int HIL_IN_REG_WDATA = 56;
  localparam int HIL_IN_LINK_DELAY = 60;
  localparam int HIL_IN_BER_PORT1 = 64;
  localparam int HIL_IN_BER_PORT2 = 66;
  localparam int HIL_IN_BER_HOST = 68;
  localparam int HIL_IN_BER_BOUNDARY = 70;
  localparam int HIL_IN_FAULT = 72;
  localparam int HIL_IN_RING_SIZE = 74;
  localparam int HIL_IN_NODE_ID = 76;
  localparam int HIL_IN_CARD_ID = 78;
  localparam int HIL_OUT_GROUPS = 11;
  localparam int HIL_OUT_P1_DATA = 0;
  localparam int HIL_OUT_P2_DATA = 8;
  localparam int HIL_OUT_HOST_DATA = 16;
  localparam int HIL_OUT_BOUNDARY_DATA = 24;
  localparam int HIL_OUT_MRX0_DATA = 32;
  localparam int HIL_OUT_MRX1_DATA = 40;
  localparam int HIL_OUT_MRX2_DATA = 48;
  localparam int HIL_OUT_MRX3_DATA = 56;
  localparam int HIL_OUT_WAKE_AT = 64;
  localparam int HIL_OUT_P1_CTL = 72;
  localparam int HIL_OUT_P2_CTL = 73;
  localparam int HIL_OUT_HOST_CTL = 74;
  localparam int HIL_OUT_BOUNDARY_CTL = 75;
  localparam int HIL_OUT_MRX_CTL = 76;
  localparam int HIL_OUT_MTX_READY = 78;
  localparam int HIL_OUT_QUIESCENT = 79;
  localparam int HIL_OUT_REG_RDATA = 80;
  function automatic logic [31:0] crc_byte(input logic [31:0] state, input logic [7:0] data);
    crc_byte = state ^ {24'h0, data};
    for (int i = 0; i < 8; i++) crc_byte = (crc_byte >> 1) ^ (crc_byte[0] ? 32'hC8DF352F : 32'h0);
  endfunction

  /* verilator lint_on UNUSEDPARAM */
endpackage
