"""Bugs seeded into copies of the RTL: what stands there, what is put in its place, and the rule that must name it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Bug:
    """One wrong line. `rules`: those of which at least one must be broken, the nearest first. `actions`: the most that
    its small stimulus may have."""

    name: str
    file: str
    before: str
    after: str
    rules: tuple[str, ...]
    actions: int = 12


BUGS = (
    Bug("counts twice", "stat_unit.sv", "? 16'h2 : 16'h1;", "? 16'h2 : 16'h2;", ("control.count",)),
    Bug(
        "TTL stays the same",
        "lane_control.sv",
        "if (head_sof) hop_data[31:16] = head_data[31:16] - 16'h1;",
        "if (head_sof) hop_data[31:16] = head_data[31:16];",
        ("control.forward", "control.ttl", "control.count"),
    ),
    Bug(
        "link CRC not checked",
        "frame_check.sv",
        "assign bad_o   = cut || marked_o || wrong;",
        "assign bad_o   = cut || marked_o;",
        ("control.damaged",),
    ),
    Bug(
        "the shadow copy is forgotten",
        "lane_control.sv",
        "if (replay_q) rd_d = base_q;",
        "if (replay_q) rd_d = rd_q;",
        ("switch.hang", "switch.dies", "rtl.ends"),  # an assertion of ours may be first
        actions=200,  # what ends the simulation is not made small
    ),
    Bug(
        "back too early",
        "bypass_switch.sv",
        "restored_at_d = now_i + 64'(restore_i);",
        "restored_at_d = now_i + 64'(restore_i >> 1);",
        ("switch.restore",),
    ),
    Bug(
        "one frame too many",
        "guardian.sv",
        "used_q < allowance_i);",
        "used_q <= allowance_i);",
        ("mailbox.mute",),
    ),
    Bug(
        "a frame enters the ring with one credit",
        "credit_counter.sv",
        "assign inject_ok_o  = credits_q > 3'h1;",
        "assign inject_ok_o  = credits_q > 3'h0;",
        ("data.bubble", "data.credit"),
    ),
    Bug(
        "all ways in share one stream",
        "work_streams.sv",
        "{3'd0, from_i}",
        "{3'd0, 2'd0}",
        ("compute.streams",),
    ),
    Bug(
        "crossings not counted",
        "data_route.sv",
        "data_i[32+CROSSINGS+:4] + 4'h1;",
        "data_i[32+CROSSINGS+:4];",
        ("crossing.enter", "data.route"),
    ),
    Bug(
        "rests while a timer of a link runs",
        "rest_monitor.sv",
        "{64{!waiting_i[i]}}",
        "{64{!waiting_i[i] || i > 4}}",
        ("quiescence.leap", "quiescence.still"),
    ),
    Bug(
        "idle data lines keep the last flit",
        "link_tx.sv",
        "      data_q <= 64'h0;\n      ctl_q  <= 8'h0;\n      if (valid)",
        "      ctl_q  <= 8'h0;\n      if (valid)",
        ("link.idle",),
    ),
    Bug(
        "a mark without an inverted CRC",
        "link_tx.sv",
        "~crc_half(crc, edited[63:32]) ^ {32{bad}}}",
        "~crc_half(crc, edited[63:32])}",
        ("link.crc",),
    ),
    Bug(
        "slow is looked at a cycle after the settings",
        "work_timer.sv",
        "assign cost      = slow_q ? base << 2 : base;",
        "assign cost      = slow_q && slow_i ? base << 2 : base;",
        ("compute.moment",),
    ),
    Bug(
        "a card shares a stream with a way in",
        "work_streams.sv",
        "5'(WAYS) + {1'b0, data_i[19:16]}",
        "5'(WAYS - 1) + {1'b0, data_i[19:16]}",
        ("compute.streams",),
    ),
    Bug(
        "a unit that is over goes on",
        "work_streams.sv",
        "last_i ? 16'h0 : segment_i + 16'h1;",
        "last_i && bytes_i == 16'h0 ? 16'h0 : segment_i + 16'h1;",
        ("compute.refuse",),
    ),
    Bug(
        "a GPU that has failed goes on with its work",
        "compute_engine.sv",
        "assign clear  = rst_i || flush_i;",
        "assign clear  = rst_i || (flush_i && 1'b0);",
        ("compute.left",),
    ),
    Bug(
        "a GPU that has failed keeps the time of its unit",
        "compute_engine.sv",
        """  work_timer u_timer (
      .clk_i,
      .rst_i(clear),""",
        """  work_timer u_timer (
      .clk_i,
      .rst_i(rst_i),""",
        ("compute.left",),
        16,
    ),
    Bug(
        "a segment needs no whole header",
        "work_parser.sv",
        "!bad_i && place_q == PAYLOAD && ~e2e_q",
        "!bad_i && ~e2e_q",
        ("compute.damaged",),
    ),
    Bug(
        "time in which a frame crosses counts as waiting",
        "data_route.sv",
        "want_o[WAY_CARD] && !pop_o ? waited_q",
        "want_o[WAY_CARD] ? waited_q",
        ("crossing.busy",),
        160,
    ),
    Bug(
        "two take turns and forget the others",
        "stream_arbiter.sv",
        "able[2] ? 2'd2 : able[3] ? 2'd3 : able[0] ? 2'd0 : 2'd1;",
        "able[0] ? 2'd0 : able[2] ? 2'd2 : able[3] ? 2'd3 : 2'd1;",
        ("data.turns",),
        24,
    ),
    Bug(
        "mail is handed over when one lane is back",
        "control_path.sv",
        "assign out_of_ring = bypassed_o != 2'b00;",
        "assign out_of_ring = bypassed_o == 2'b11;",
        ("switch.half",),
    ),
    Bug(
        "a corrupt GPU damages data frames beside control frames",
        "link_tx.sv",
        "c_valid_i && c_flip_i ?",
        "c_flip_i ?",
        (
            "data.unharmed",
            "link.crc",
        ),
    ),
    Bug(
        "a slot that becomes free as a link comes back is forgotten",
        "data_fifo.sv",
        "if (restart_i) owed_d = SLOTS_L - frames_d;",
        "if (restart_i) owed_d = SLOTS_L - frames_q;",
        ("data.phases",),
    ),
    Bug(
        "a credit of the time before counts",
        "credit_counter.sv",
        "else if (restart_i) credits_q <= 3'h0;",
        "else if (restart_i) credits_q <= 3'(credit_i);",
        ("link.spent",),
        18,
    ),
    Bug(
        "rests in the cycle behind a write",
        "rest_monitor.sv",
        "!written_q && !busy_i;",
        "!(written_q && busy_i) && !busy_i;",
        ("quiescence.still",),
    ),
    Bug(
        "frames on their way are let go for one cycle only",
        "injection_turn.sv",
        "if (rst_i || begin_i) held_q <= 7'd0;",
        "if (rst_i || begin_i || !hold_o) held_q <= 7'd0;",
        ("data.held",),
        24,
    ),
    Bug(
        "a switch of which one lane doesn't follow isn't stuck",
        "switch_position.sv",
        "assign differs   = bypassed_i != {2{bypass_i}};",
        "assign differs   = bypassed_i == {2{!bypass_i}};",
        ("switch.half",),
    ),
    Bug(
        "a data frame keeps its last hop",
        "data_route.sv",
        "end else data_o[31:16] = data_i[31:16] - 16'h1;",
        "end else data_o[31:16] = data_i[31:16] - 16'(data_i[31:16] != 16'h1);",
        ("link.ttl",),
    ),
    Bug(
        "frames with a TTL that is used up go on past the GPU",
        "data_route.sv",
        "else if (!expired) to[FROM == PORT_P2",
        "else if (!expired || bypassed_i) to[FROM == PORT_P2",
        ("link.ttl",),
    ),
    Bug(
        "babbled frames don't count",
        "outbox.sv",
        ".begin_i(valid && ready && sof),",
        ".begin_i(valid && ready && sof && !babbling),",
        ("mailbox.within",),
        40,
    ),
    Bug(
        "progress doesn't begin the watchdog's time anew",
        "lane_control.sv",
        "      run_q      <= stalled;\n      if (stalled && !run_q) trip_at_q",
        "      run_q      <= handed_q && !bypass_q;\n      if (handed_q && !bypass_q && !run_q) trip_at_q",
        ("switch.patience",),
        16,
    ),
    Bug(
        "what is left of the watchdog's time counts for the next hang",
        "lane_control.sv",
        "trip_at_q <= now_i + 64'(watchdog_i);",
        "trip_at_q <= now_i + (trip_at_q > now_i ? trip_at_q - now_i : 64'(watchdog_i));",
        ("switch.patience",),
        16,
    ),
    Bug(
        "a lane's trip takes back the question that is under way",
        "bypass_switch.sv",
        "      ping_d    = !pong_i;",
        "      ping_d    = trip_i ? !ping_q : !pong_i;",
        ("switch.again",),
        16,
    ),
    Bug(
        "gpu_restore is taken over when the GPU fails",
        "bypass_switch.sv",
        """      timing_d    = 1'b0;
    end else if (restoring_q && !timing_q) begin
      timing_d      = 1'b1;
      restored_at_d = now_i + 64'(restore_i);""",
        """      timing_d    = 1'b0;
      if (!restoring_q || timing_q) restored_at_d = 64'(restore_i);
    end else if (restoring_q && !timing_q) begin
      timing_d      = 1'b1;
      restored_at_d = now_i + restored_at_q;""",
        ("timers.changed",),
    ),
    Bug(
        "a mute ends with the period in which it began",
        "guardian.sv",
        "        used_d  = 32'h1;\n        until_d = now_i + 64'(period_i);",
        "        used_d  = 32'h1;\n        if (fresh) until_d = now_i + 64'(period_i);",
        ("mailbox.period",),
        16,
    ),
    Bug(
        "an allowance that is written lower is passed by",
        "guardian.sv",
        "used_q < allowance_i);",
        "used_q != allowance_i);",
        ("mailbox.period",),
        16,
    ),
    Bug(
        "a loss of a single cycle is filtered out",
        "link_state.sv",
        "      ACTIVE:  if (!rx_up_i || rx_fault_i) state_d = DOWN;",
        """      ACTIVE:
      if ((!rx_up_i && timing_q) || rx_fault_i) state_d = DOWN;
      else timing_d = !rx_up_i;""",
        ("link.blink",),
    ),
    Bug(
        "the slot of a frame that was cut isn't given back",
        "data_fifo.sv",
        "  assign leave  = pop_i && eof_o;",
        "  assign leave  = pop_i && eof_o && !(bad_o && data_o == 64'h0);",
        ("link.left_behind",),
    ),
    Bug(
        "while a frame waits for another card none goes to the CPU",
        "data_switch.sv",
        "      assign may_start = {4{transit_ok_i[OUT]}};",
        "      assign may_start = {4{transit_ok_i[OUT] && (transit_ok_i[PORT_BOUNDARY] || !want[PORT_P1][WAY_CARD])}};",
        ("crossing.beside",),
        16,
    ),
    Bug(
        "of four that compete one is forgotten",
        "stream_arbiter.sv",
        "          2'd0: select = able[1] ? 2'd1",
        "          2'd0: select = able[1] && !(able[2] && able[3]) ? 2'd1",
        ("data.turns",),
        32,
    ),
    Bug(
        "a switch that waits for gpu_restore doesn't ask",
        "bypass_switch.sv",
        "assign silent   = beating &&",
        "assign silent   = beating && !restoring_q &&",
        ("switch.again",),
        16,
    ),
    Bug(
        "the length of a frame that is too long wraps",
        "data_fifo.sv",
        "if (length_q == LONGEST - 7'h1) long_d = 1'b1;",
        "long_d = length_q >= LONGEST - 7'h1;",
        ("data.long",),
    ),
    Bug(
        "a link that is ready doesn't say so before it is used",
        "link_state.sv",
        "          state_d  = READY;",
        "          state_d  = READY;\n          if (!rx_fault_i) state_d = ACTIVE;",
        ("link.credit",),
    ),
    Bug(
        "back in the gap of a frame",
        "lane_control.sv",
        "bypass_q && !open_q && !drop_q;",
        "bypass_q && !head_valid;",
        ("switch.gaps", "switch.half"),
    ),
    Bug(
        "a switch that gets loose before a dead GPU stays stuck",
        "switch_position.sv",
        "      stuck_q  <= 1'b0;\n    end else if (!timing_q",
        "      if (!bypass_i) stuck_q <= 1'b0;\n    end else if (!timing_q",
        ("switch.stuck_through",),
    ),
    Bug(
        "a refusal is lost as a result is taken",
        "work_outcome.sv",
        "if (refuse_i && !(refuse_q && !take_i)) begin",
        "if (refuse_i && !refuse_q && !take_i) begin",
        ("compute.coincide",),
    ),
    Bug(
        "a register write hides what is counted",
        "registers.sv",
        "if (event_seen) begin",
        "if (event_seen && !we_i) begin",
        ("registers.beside",),
    ),
    Bug(
        "data reaches a GPU of which one lane has followed",
        "gpu_node.sv",
        "assign out_of_ring = bypassed != 2'b00;",
        "assign out_of_ring = bypassed == 2'b11;",
        ("switch.half",),
    ),
    Bug(
        "a frame for the CPU is given up when the GPU goes to bypass",
        "data_switch.sv",
        "d_bad_i[R2], 1'b0, d_bad_i[R0]}),",
        "d_bad_i[R2], 1'b0, d_bad_i[R0] || (bypassed_i && w == WAY_HOST)}),",
        ("data.begun",),
    ),
    Bug(
        "the loss of a second ring link isn't counted",
        "gpu_node.sv",
        ".wraps_i(down[1:0]),",
        ".wraps_i({down[1] && active[0], down[0] && active[1]}),",
        ("link.down",),
    ),
    Bug(
        "of frames that have waited too long in one cycle one is counted",
        "registers.sv",
        "3'(stalled_i[0]) + 3'(stalled_i[1]) + 3'(stalled_i[2])",
        "3'(stalled_i != 3'h0)",
        ("crossing.stalled",),
        16,
    ),
    Bug(
        "what is thrown away at a dead link isn't counted",
        "gpu_node.sv",
        ".crossed_i(start[PORT_BOUNDARY]),",
        ".crossed_i(start[PORT_BOUNDARY] && active[PORT_BOUNDARY]),",
        ("crossing.drained",),
    ),
    Bug(
        "a muted GPU isn't tripped",
        "bypass_switch.sv",
        "(trip_i || silent) && !tripped_q;",
        "(trip_i || silent) && !tripped_q && !muted_i;",
        ("switch.heartbeat",),
    ),
    Bug(
        "a unit's time goes on though the GPU has left the ring",
        "compute_engine.sv",
        "  work_timer u_timer (\n      .clk_i,\n      .rst_i(clear),",
        "  work_timer u_timer (\n      .clk_i,\n      .rst_i,",
        ("compute.bypassed", "rtl.ends"),  # an assertion of ours may be first
        actions=200,  # what ends the simulation is not made small
    ),
    Bug(
        "of what a unit takes the highest byte of a factor is lost",
        "work_timer.sv",
        "assign base      = setup_q + low_q + {high_q, 16'h0};",
        "assign base      = setup_q + low_q + {8'h0, high_q[7:0], 16'h0};",
        ("compute.time",),
    ),
    Bug(
        "what is said of a refused unit gets into one that waits",
        "work_queue.sv",
        "      if (pop_i) head_q <= head_q + 2'd1;",
        "      if (pop_i) head_q <= head_q + 2'd1;\n      length_q[tail_q][31:16] <= length_i[31:16];",
        ("compute.queue",),
    ),
    Bug(
        "a GPU that speaks to no card sends results across",
        "gpu_node.sv",
        "control[CONTROL_BOUNDARY] ? crossings : 16'h0",
        "crossings",
        ("fields.work",),
    ),
    Bug(
        "the mark alone isn't looked at on the data channel",
        "port_rx.sv",
        "&& ctl[LINK_DATA]),\n      .sof_i(ctl[LINK_SOF]),\n      .eof_i(ctl[LINK_EOF]),\n      .err_i(ctl[LINK_ERR]),",
        "&& ctl[LINK_DATA]),\n      .sof_i(ctl[LINK_SOF]),\n      .eof_i(ctl[LINK_EOF]),\n      .err_i(1'b0),",
        ("data.damaged",),
    ),
    Bug(
        "of data frames that are dropped in one cycle one is counted",
        "registers.sv",
        "3'(data_dropped_i[0]) + 3'(data_dropped_i[1]) + 3'(data_dropped_i[2]) + 3'(data_dropped_i[3])",
        "3'(data_dropped_i != 4'h0)",
        ("registers.together",),
    ),
    Bug(
        "records say errors in four bits",
        "registers.sv",
        "= count_q[at(REG_RX_BAD_PORT2)][7:0];",
        "= {4'h0, count_q[at(REG_RX_BAD_PORT2)][3:0]};",
        ("registers.many",),
        actions=40,
    ),
    Bug(
        "the frame that mutes leaves when the switch is stuck",
        "outbox.sv",
        "assign wanted = pass && !lost;",
        "assign wanted = (pass || mute_o) && !lost;",
        ("mailbox.mute", "mailbox.within"),
        actions=14,
    ),
    Bug(
        "a long time ends too late",
        "link_state.sv",
        "at_d = now_i + 64'(restore_i);",
        "at_d = now_i + 64'(restore_i) + 64'(restore_i >> 8);",
        ("timers.long",),
    ),
    Bug(
        "a frame that waited too long for another card is counted as dropped, too",
        "data_route.sv",
        "assign dropped_o = drop && sof_i && !stalled && (mine || !expired);",
        "assign dropped_o = drop && sof_i && (FROM == PORT_P2 || !stalled) && (mine || !expired);",
        ("crossing.stalled",),
        actions=40,
    ),
    Bug(
        "in the gap of a frame of the CPU a flit is made up",
        "stream_arbiter.sv",
        "valid_o = locked_q ? want_i[select] : able[select];",
        "valid_o = locked_q ? want_i[select] || select == 2'd3 : able[select];",
        ("data.gaps", "data.order", "rtl.ends"),  # our RTL asserts it, too
    ),
    Bug(
        "a frame without an end gets that of one that is swallowed",
        "outbox.sv",
        "(sof ? wanted : pass_q)",
        "(sof ? wanted : 1'b1)",
        ("faults.keepalive_loss",),
    ),
    Bug(
        "a counter that is right again a little later",
        "registers.sv",
        "32'hFFFF_FFF0 ? count + 32'(events) : count;",
        "32'hFFFF_FFF0 ? (count + 32'(events)) ^ {22'h0, count[7], 9'h0} : count;",
        ("registers.many",),
        actions=300,
    ),
)
