// Puts messages on a line: 00 | COBS(message, CRC) | 00.
//
// A message is made byte by byte (push_i), from clear_i on, and sent by send_i; by another send_i once more. damaged_i
// sends what says "that was no message", and leaves the one that was made. All of these only while busy_o is low.
module hil_tx
  import ringhil_pkg::*;
#(
    localparam int LOG2 = 7  // bytes of the longest message with its CRC: less than a block of COBS
) (
    input  logic       clk_i,
    input  logic       rst_i,
    input  logic       clear_i,
    input  logic       push_i,
    input  logic [7:0] data_i,
    input  logic       send_i,
    input  logic       damaged_i,
    output logic       busy_o,
    output logic       valid_o,
    output logic [7:0] data_o,
    input  logic       ready_i
);
  typedef enum logic [2:0] {
    RESTS,
    SUM,    // the CRC is put behind the message
    OPEN,   // a zero byte
    SCAN,   // for the end of a block
    CODE,
    BLOCK,
    CLOSE,  // a zero byte
    FIXED   // "damaged"
  } state_e;

  state_e state_q;
  logic [7:0] mem_q[1<<LOG2];
  logic [LOG2-1:0] used_q, block_q, scan_q;
  logic [31:0] crc_q;
  logic summed_q;
  logic [1:0] sum_q;
  logic [2:0] fixed_q;
  logic [7:0] scanned, sum_byte;
  logic emit, at_end;

  assign scanned  = mem_q[scan_q];
  assign at_end   = scan_q == used_q;
  assign busy_o   = state_q != RESTS;
  assign sum_byte = ~crc_q[31-8*sum_q-:8];
  assign valid_o  = state_q != RESTS && state_q != SUM && state_q != SCAN;
  assign emit     = valid_o && ready_i;

  always @* begin
    case (state_q)
      CODE:    data_o = 8'(scan_q - block_q) + 8'h01;
      BLOCK:   data_o = mem_q[block_q];
      FIXED:   data_o = HIL_DAMAGED_FRAME[8*fixed_q+:8];
      default: data_o = 8'h00;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (push_i) mem_q[used_q] <= data_i;
    else if (state_q == SUM) mem_q[used_q] <= sum_byte;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q  <= RESTS;
      used_q   <= '0;
      block_q  <= '0;
      scan_q   <= '0;
      crc_q    <= CRC_INITIAL;
      summed_q <= 1'b0;
      sum_q    <= 2'b00;
      fixed_q  <= 3'b000;
    end else begin
      unique case (state_q)
        RESTS: begin
          block_q <= '0;
          scan_q  <= '0;
          fixed_q <= 3'b000;
          sum_q   <= 2'b00;
          if (clear_i) begin
            used_q   <= '0;
            crc_q    <= CRC_INITIAL;
            summed_q <= 1'b0;
          end else if (push_i) begin
            used_q <= used_q + 1'b1;
            crc_q  <= crc_byte(crc_q, data_i);
          end else if (send_i) state_q <= summed_q ? OPEN : SUM;
          else if (damaged_i) state_q <= FIXED;
        end
        SUM: begin
          used_q   <= used_q + 1'b1;
          sum_q    <= sum_q + 1'b1;
          summed_q <= 1'b1;
          if (sum_q == 2'b11) state_q <= OPEN;
        end
        OPEN: if (emit) state_q <= SCAN;
        SCAN: begin
          if (at_end || scanned == 8'h00) state_q <= CODE;
          else scan_q <= scan_q + 1'b1;
        end
        CODE: if (emit) begin
          if (block_q != scan_q) state_q <= BLOCK;
          else state_q <= at_end ? CLOSE : SCAN;
          if (block_q == scan_q && !at_end) begin
            block_q <= block_q + 1'b1;
            scan_q  <= scan_q + 1'b1;
          end
        end
        BLOCK: if (emit) begin
          block_q <= block_q + 1'b1;
          if (block_q + 1'b1 == scan_q) begin
            state_q <= at_end ? CLOSE : SCAN;
            if (!at_end) begin
              block_q <= scan_q + 1'b1;
              scan_q  <= scan_q + 1'b1;
            end
          end
        end
        CLOSE: if (emit) state_q <= RESTS;
        default: if (emit) begin
          fixed_q <= fixed_q + 1'b1;
          if (fixed_q == 3'(HIL_DAMAGED_BYTES - 1)) state_q <= RESTS;
        end
      endcase
    end
  end
endmodule
