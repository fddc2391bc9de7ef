// The contexts of a compute engine: what each may hold and holds, whose it is, what it has launched.
//
// A command (command_i, a whole unit of work that arrived good) is looked at in the next cycle, and carried out whole or
// not at all. It is refused without an answer of the context (refuse_o) when there is no such context or another key is
// given; otherwise its answer is kept until the next command, and is sent again when the same command comes again: so
// each is carried out once. Older commands than the last one are passed over. A launch is answered when it has been taken,
// and again when it is over.
//
// Context 0 is that of plain work units: it can only be asked, with key 0, which is everywhere the key of whoever
// manages the GPU. Who has no other key than its own can't change what its context may have. Answers are offered one
// after the other, context by context in turn.
module context_table
  import ringhil_pkg::*;
#(
    parameter int CONTEXTS = MAX_CONTEXTS,
    parameter bit METER = 1'b1              // 0: a query of energy or busy time is one of the GPU's memory
) (
    input  logic                            clk_i,
    input  logic                            rst_i,
    input  logic                            frozen_i,
    input  logic [                    31:0] device_memory_i,  // pages
    // A command.
    input  logic                            command_i,
    input  logic [                     7:0] compute_i,
    input  logic [                    15:0] context_i,
    input  logic [                    63:0] head0_i,          // key 32 | amount 32
    input  logic [                    63:0] head1_i,          // slice 32 | priority 8 | state 24
    input  logic [          REPLY_BITS-1:0] reply_i,
    input  logic [                    31:0] length_i,
    input  logic [                    63:0] digest_i,
    // The meter: asks_o while a query looks at it.
    output logic                            asks_o,
    input  logic [                    63:0] energy_i,
    input  logic [                    63:0] busy_cycles_i,
    // One that reached no context.
    output logic                            refuse_o,
    output logic [                    15:0] reason_o,
    output logic [          REPLY_BITS-1:0] refuse_reply_o,
    // The scheduler: who has launched something, the settings of one context, and how its turn ended.
    output logic [            CONTEXTS-1:0] launched_o,
    output logic [CONTEXTS-1:0][       7:0] priority_o,
    input  logic [    $clog2(CONTEXTS)-1:0] turn_i,
    output logic [                    31:0] turn_slice_o,
    output logic [                    23:0] turn_state_o,
    output logic [                    31:0] turn_left_o,      // cycles of its launch that are left
    input  logic                            begun_i,          // its turn begins with a switch
    input  logic                            over_i,           // its turn ends
    input  logic [                    31:0] ran_i,            // cycles that it had
    input  logic [                    31:0] worked_i,         // cycles that its launch came forward by
    output logic                            stop_o,           // its launch is withdrawn while it has the engine
    // Answers.
    output logic                            busy_o,
    output logic                            valid_o,
    output logic [          REPLY_BITS-1:0] reply_o,
    output logic [                    15:0] status_o,
    output logic [                    63:0] digest_o,
    output logic [                    31:0] length_o,
    output logic [                    31:0] cycles_o,
    input  logic                            take_i,
    output logic [                    31:0] held_o            // pages that contexts hold
);
  localparam int WIDTH = $clog2(CONTEXTS);

  // ------------------------------------------------------------------------------------------------- the command
  logic command_q;
  logic [7:0] compute_q, priority_in;
  logic [23:0] state_in;
  logic [REPLY_BITS-1:0] reply_q;
  logic [63:0] digest_q;
  logic [31:0] key_in, amount_in, slice_in, length_q;
  logic [WIDTH-1:0] at_q;
  logic listed_q;  // its context has a number that exists

  always_ff @(posedge clk_i) begin
    if (rst_i) command_q <= 1'b0;
    else if (!frozen_i) begin
      command_q <= command_i;
      if (command_i) begin
        compute_q                <= compute_i;
        at_q                     <= context_i[WIDTH-1:0];
        listed_q                 <= context_i < 16'(CONTEXTS);
        {key_in, amount_in}      <= head0_i;
        {slice_in, priority_in, state_in} <= head1_i;
        reply_q                  <= reply_i;
        length_q                 <= length_i;
        digest_q                 <= digest_i;
      end
    end
  end

  // ------------------------------------------------------------------------------------------------- the contexts
  logic [CONTEXTS-1:0] alive_q, launched_q, answers_q, ends_q, asked_q, began_q;
  logic [31:0] key_q[CONTEXTS];
  logic [31:0] limit_q[CONTEXTS];
  logic [31:0] used_q[CONTEXTS];
  logic [31:0] slice_q[CONTEXTS];
  logic [CONTEXTS-1:0][7:0] priority_q;
  logic [23:0] state_q[CONTEXTS];
  logic [63:0] run_q[CONTEXTS];
  logic [31:0] switches_q[CONTEXTS];
  logic [31:0] refused_q[CONTEXTS];
  // The last command and its answer; asked_q: there was one since the engine was emptied.
  logic [REPLY_BITS-1:0] last_q[CONTEXTS];
  logic [15:0] last_status_q[CONTEXTS];
  logic [63:0] last_digest_q[CONTEXTS];
  logic [31:0] last_length_q[CONTEXTS];
  // The last launch and how it ended; began_q: there was one.
  logic [REPLY_BITS-1:0] launch_q[CONTEXTS];
  logic [15:0] launch_status_q[CONTEXTS];
  logic [31:0] launch_length_q[CONTEXTS];
  logic [31:0] launch_ran_q[CONTEXTS];
  logic [31:0] left_q[CONTEXTS];
  logic [31:0] held_q;

  assign held_o       = held_q;
  assign priority_o   = priority_q;
  assign turn_slice_o = slice_q[turn_i];
  assign turn_state_o = state_q[turn_i];
  assign turn_left_o  = left_q[turn_i];

  // --------------------------------------------------------------------------------------- what becomes of a command
  logic alive, ours, same, again, launch_again, old, manages, fits, there;
  logic [31:0] number, used, limit, available, more, less;
  assign number = reply_q[REPLY_UNIT+:32];
  // In most cycles there is no command to look at.
  always @* begin
    alive        = 1'b0;
    manages      = 1'b0;
    ours         = 1'b0;
    same         = 1'b0;
    again        = 1'b0;
    launch_again = 1'b0;
    old          = 1'b0;
    fits         = 1'b0;
    there        = 1'b0;
    used         = 32'h0;
    limit        = 32'h0;
    available    = 32'h0;
    if (command_q) begin
      alive        = listed_q && alive_q[at_q];
      manages      = key_in == 32'h0;
      ours         = manages || key_in == key_q[at_q];
      // With another's key nothing comes again; but no context is created by what is older than the last command.
      same         = asked_q[at_q] && last_q[at_q][REPLY_UNIT+:32] == number;
      again        = listed_q && ours && same;
      launch_again = listed_q && ours && began_q[at_q] && launch_q[at_q][REPLY_UNIT+:32] == number;
      old          = listed_q && (ours || (compute_q == COMPUTE_CREATE && !alive)) && asked_q[at_q] && !again
          && (same || number - last_q[at_q][REPLY_UNIT+:32] >= 32'h8000_0000);
      used         = used_q[at_q];
      limit        = limit_q[at_q];
      available    = device_memory_i > held_q ? device_memory_i - held_q : 32'h0;
      fits         = amount_in <= limit - used && limit >= used;
      there        = amount_in <= used;
    end
  end

  logic refuse, create, destroy, configure, allocate, free, launch, cancel, decided, withdrawn;
  logic [15:0] reason, status;
  logic [63:0] digest;
  always @* begin
    refuse    = 1'b0;
    reason    = ACK_NO_CONTEXT;
    create    = 1'b0;
    destroy   = 1'b0;
    configure = 1'b0;
    allocate  = 1'b0;
    free      = 1'b0;
    launch    = 1'b0;
    cancel    = 1'b0;
    decided   = 1'b0;
    status    = RESULT_DONE;
    if (command_q && !again && !launch_again && !old) begin
      if (!listed_q || (!alive && compute_q != COMPUTE_CREATE)) refuse = 1'b1;
      else if (compute_q == COMPUTE_CREATE) begin
        reason  = ACK_EXISTS;
        refuse  = alive;
        decided = !alive;
        create  = !alive;
      end else if (!ours) begin
        reason = ACK_FOREIGN;
        refuse = 1'b1;
      end else begin
        decided = 1'b1;
        unique case (compute_q)
          COMPUTE_DESTROY: destroy = 1'b1;
          COMPUTE_CONFIGURE: begin
            if (manages) configure = 1'b1;
            else status = RESULT_INVALID;
          end
          COMPUTE_ALLOCATE: begin
            if (!fits) status = RESULT_OVER_LIMIT;
            else if (amount_in > available) status = RESULT_NO_MEMORY;
            else allocate = 1'b1;
          end
          COMPUTE_FREE: begin
            if (there) free = 1'b1;
            else status = RESULT_INVALID;
          end
          COMPUTE_COPY: if (amount_in >= used) status = RESULT_INVALID;
          COMPUTE_LAUNCH: begin
            if (launched_q[at_q] || ends_q[at_q]) status = RESULT_RUNNING;
            else begin
              launch = 1'b1;
              status = RESULT_STARTED;
            end
          end
          COMPUTE_CANCEL: cancel = launched_q[at_q];
          default: ;
        endcase
        // Context 0 can only be asked.
        if (at_q == '0 && compute_q != COMPUTE_QUERY) begin
          {destroy, configure, allocate, free, launch, cancel} = 6'b0;
          status = RESULT_INVALID;
        end
      end
    end
  end
  assign more = allocate ? amount_in : 32'h0;
  assign less = free ? amount_in : destroy ? used : 32'h0;

  always @* begin
    digest = {used + more - less, configure ? amount_in : limit};
    if (compute_q == COMPUTE_COPY) digest = digest_q;
    if (command_q && compute_q == COMPUTE_QUERY) begin
      unique case (amount_in)
        QUERY_MEMORY: digest = {used, limit};
        QUERY_RUN_TIME: digest = run_q[at_q];
        QUERY_COUNTS: digest = {switches_q[at_q], refused_q[at_q]};
        QUERY_LAUNCH: digest = {31'h0, launched_q[at_q], began_q[at_q] ? left_q[at_q] : 32'h0};
        default: digest = {held_q, device_memory_i};
      endcase
      if (METER && amount_in == QUERY_ENERGY) digest = energy_i;
      if (METER && amount_in == QUERY_BUSY) digest = busy_cycles_i;
    end
  end
  assign asks_o = METER && command_q && compute_q == COMPUTE_QUERY
      && (amount_in == QUERY_ENERGY || amount_in == QUERY_BUSY);

  assign refuse_o         = refuse && !frozen_i;
  assign reason_o         = reason;
  assign refuse_reply_o   = reply_q;
  // What is withdrawn isn't begun in the same cycle, either.
  assign withdrawn        = (cancel || destroy) && launched_q[at_q];
  assign launched_o       = launched_q & ~(CONTEXTS'(withdrawn) << at_q);
  assign stop_o           = withdrawn && turn_i == at_q && !frozen_i;

  // ------------------------------------------------------------------------------------------------------- answers
  // Contexts say one answer each in turn, of their last command before of their launch: who asks without end keeps
  // nobody but itself waiting.
  logic [WIDTH-1:0] answer, answered_q;
  logic of_launch;
  logic [CONTEXTS-1:0] untold, later;
  assign untold = answers_q | ends_q;
  always @* begin
    answer    = '0;
    of_launch = 1'b0;
    later     = '0;
    reply_o   = '0;
    status_o  = 16'h0;
    digest_o  = 64'h0;
    length_o  = 32'h0;
    cycles_o  = 32'h0;
    if (untold != '0) begin
      for (int i = 0; i < CONTEXTS; i++) later[i] = untold[i] && WIDTH'(i) > answered_q;
      for (int i = CONTEXTS - 1; i >= 0; i--) begin
        if (later == '0 ? untold[i] : later[i]) answer = WIDTH'(i);
      end
      of_launch = !answers_q[answer];
      reply_o   = of_launch ? launch_q[answer] : last_q[answer];
      status_o  = of_launch ? launch_status_q[answer] : last_status_q[answer];
      digest_o  = of_launch ? {32'h0, left_q[answer]} : last_digest_q[answer];
      length_o  = of_launch ? launch_length_q[answer] : last_length_q[answer];
      cycles_o  = of_launch ? launch_ran_q[answer] : 32'h0;
    end
  end
  assign busy_o    = (answers_q != '0 || ends_q != '0 || command_q) && !frozen_i;
  assign valid_o   = (answers_q != '0 || ends_q != '0) && !frozen_i && !rst_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      alive_q    <= CONTEXTS'(1);
      launched_q <= '0;
      answers_q  <= '0;
      ends_q     <= '0;
      asked_q    <= '0;
      began_q    <= '0;
      priority_q <= '0;
      held_q     <= 32'h0;
      answered_q <= WIDTH'(CONTEXTS - 1);
      key_q[0]   <= 32'h0;
      limit_q[0] <= 32'h0;
      used_q[0]  <= 32'h0;
      left_q[0]  <= 32'h0;
      run_q[0]   <= 64'h0;
      switches_q[0] <= 32'h0;
      refused_q[0]  <= 32'h0;
    end else if (!frozen_i) begin
      if (take_i) begin
        answered_q <= answer;
        if (of_launch) ends_q[answer] <= 1'b0;
        else answers_q[answer] <= 1'b0;
      end
      if (begun_i) switches_q[turn_i] <= switches_q[turn_i] + 32'h1;
      if (over_i) begin
        run_q[turn_i]        <= run_q[turn_i] + 64'(ran_i);
        launch_ran_q[turn_i] <= launch_ran_q[turn_i] + ran_i;
        left_q[turn_i]       <= left_q[turn_i] - worked_i;
        if (left_q[turn_i] == worked_i) begin
          launched_q[turn_i]      <= 1'b0;
          ends_q[turn_i]          <= 1'b1;
          launch_status_q[turn_i] <= RESULT_DONE;
        end
      end
      if (command_q) begin
        if (launch_again && !launched_q[at_q]) ends_q[at_q] <= 1'b1;
        if (again) answers_q[at_q] <= 1'b1;
        // It is answered to whoever asked last.
        if (launch_again) launch_q[at_q] <= reply_q;
        if (again || decided) last_q[at_q] <= reply_q;
        if (decided) begin
          asked_q[at_q]       <= 1'b1;
          last_status_q[at_q] <= status;
          last_digest_q[at_q] <= create ? {32'h0, amount_in} : digest;
          last_length_q[at_q] <= length_q;
          answers_q[at_q]     <= 1'b1;
          if (status != RESULT_DONE && !launch) refused_q[at_q] <= refused_q[at_q] + 32'h1;
        end
        if (create) begin
          alive_q[at_q]    <= 1'b1;
          key_q[at_q]      <= key_in;
          used_q[at_q]     <= 32'h0;
          run_q[at_q]      <= 64'h0;
          switches_q[at_q] <= 32'h0;
          refused_q[at_q]  <= 32'h0;
          began_q[at_q]    <= 1'b0;
        end
        if (create || configure) begin
          limit_q[at_q]    <= amount_in;
          slice_q[at_q]    <= slice_in;
          priority_q[at_q] <= priority_in;
          state_q[at_q]    <= state_in;
        end
        if (allocate || free || destroy) begin
          used_q[at_q] <= used + more - less;
          held_q       <= held_q + more - less;
        end
        if (destroy) alive_q[at_q] <= 1'b0;
        if (launch) begin
          began_q[at_q]          <= 1'b1;
          launched_q[at_q]       <= 1'b1;
          launch_q[at_q]         <= reply_q;
          launch_length_q[at_q]  <= length_q;
          launch_ran_q[at_q]     <= 32'h0;
          left_q[at_q]           <= amount_in;
        end
        if (withdrawn) begin
          launched_q[at_q]      <= 1'b0;
          ends_q[at_q]          <= 1'b1;
          launch_status_q[at_q] <= RESULT_CANCELLED;
        end
      end
    end
  end

`ifndef SYNTHESIS
  // Turns are those of contexts that have launched something, never of plain work.
  always @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!begun_i || turn_i != '0)
      else $fatal(1, "plain work is scheduled as a launch");
      assert (!over_i || launched_q[turn_i])
      else $fatal(1, "a turn ends of a context that has launched nothing");
    end
  end
`endif
endmodule
