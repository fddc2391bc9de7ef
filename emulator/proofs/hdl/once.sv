// No frame is made up, and none leaves whole twice: what has come once is sent on or handed to the firmware once.
module ringhil_claim_once
  import ringhil_pkg::*;
(
    `include "claim_ports.svh"
);
  logic came;
  logic [2:0] from;
  logic [63:0] first;
  logic [3:0] begins;
  ringhil_watched u_watched (.*, .came_o(came), .from_o(from), .first_o(first), .begins_o(begins));

  // It ends good: on a link, in the mailbox.
  logic [3:0] link_whole, mail_whole, mail_begins;
  logic gone_q;
  for (genvar p = 0; p < 4; p++) begin : g_port
    logic [1:0] leaving_q;  // by channel
    logic used, ch, mailing_q;
    assign used = tx_ctl_i[p][LINK_UP] && !tx_ctl_i[p][LINK_FAULT];
    assign ch = tx_ctl_i[p][LINK_DATA];
    assign link_whole[p] = tx_ctl_i[p][LINK_VALID] && tx_ctl_i[p][LINK_EOF] && !tx_ctl_i[p][LINK_ERR] && leaving_q[ch]
        && !tx_ctl_i[p][LINK_SOF];
    assign mail_begins[p] = mrx_ctl_i[p][0] && mrx_ctl_i[p][1]
        && {mrx_data_i[p][63:48], mrx_data_i[p][15:0]} == pick_i;
    assign mail_whole[p] = mrx_ctl_i[p][0] && mrx_ctl_i[p][2] && !mrx_ctl_i[p][3] && mailing_q && !mrx_ctl_i[p][1];
    always_ff @(posedge clk_i) begin
      if (!ready_i || !used) leaving_q <= 2'b00;
      else if (tx_ctl_i[p][LINK_VALID]) begin
        if (tx_ctl_i[p][LINK_SOF]) leaving_q[ch] <= begins[p];
        else if (tx_ctl_i[p][LINK_EOF]) leaving_q[ch] <= 1'b0;
      end
      if (!ready_i) mailing_q <= 1'b0;
      else if (mrx_ctl_i[p][0]) mailing_q <= mrx_ctl_i[p][1] ? mail_begins[p] : mailing_q && !mrx_ctl_i[p][2];
    end
  end
  logic [7:0] whole;
  assign whole = {link_whole, mail_whole};
  always_ff @(posedge clk_i) gone_q <= ready_i && (gone_q || whole != 8'h0);
  always_comb begin
    if (ready_i) begin
      made_up: assert (came || begins == 4'h0);
      made_up_mail: assert (came || mail_begins == 4'h0);
      if (whole != 8'h0) doubled: assert (!gone_q && (whole & (whole - 8'h1)) == 8'h0);
    end
  end
endmodule
