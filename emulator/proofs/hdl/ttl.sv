// TTL of a frame that goes on round the ring: one less at each hop, none leaves that came with 0; a frame that is turned
// round for the first time begins anew. No frame leaves a ring port with more than ring size + 1.
module ringhil_claim_ttl
  import ringhil_pkg::*;
(
    `include "claim_ports.svh"
);
  logic came;
  logic [2:0] from;
  logic [63:0] first;
  logic [3:0] begins;
  ringhil_watched u_watched (.*, .came_o(came), .from_o(from), .first_o(first), .begins_o(begins));

  logic [15:0] most, had, less;
  logic was_wrapped;
  assign most = ring_size_i + 16'h1;
  assign had  = first[31:16];
  assign less = had - 16'h1 > most ? most : had - 16'h1;
  assign was_wrapped = first[32+FLAG_WRAPPED];
  for (genvar p = 0; p < 2; p++) begin : g_port
    logic [15:0] has;
    logic is_wrapped;
    assign has = tx_data_i[p][31:16];
    assign is_wrapped = tx_data_i[p][32+FLAG_WRAPPED];
    always_comb begin
      if (ready_i && begins[p]) begin
        too_large: assert (has <= most);
        if (came && from < 3'd2) begin
          used_up: assert (had != 16'h0);
          if (was_wrapped) begin
            lower: assert (has < had);
            unwrapped: assert (is_wrapped);
          end else if (is_wrapped) turned: assert (has < most);
          else one_less: assert (has == less && from != 3'(p));
        end
      end
    end
  end
endmodule
