"""Of these: mistakes in census rounds, in what is told of links, and in registers."""

from .mistake import Mistake

_CLEARS = "rhf_say_write(&gpu->out, RH_REGISTER_CROSSINGS, 0);\n    rhf_say_write(&gpu->out, RH_REGISTER_EXITS, 0);"
_TIMES_OUT = "rhf_say_timer(&gpu->out, RHF_TIMEOUT, (int64_t)gpu->boot.timeout);"
_NEXT_PERIOD = "        rhf_say_timer(&gpu->out, RHF_PERIOD, (int64_t)gpu->boot.period);\n    else if"
_LAID_DOWN = "    rhf_say_cancel(&gpu->out, RHF_TIMEOUT);\n    rhf_say_write(&gpu->out, RH_REGISTER_EXITS, 0);\n"

IN_ROUNDS = {
    # Rounds.
    "weighs_one": Mistake("census.c", "        gpu->boot.weight,\n", "        1,\n", ("rounds.own_record",)),
    "one_attempt": Mistake(
        "census.c",
        "if (c->attempt < gpu->boot.attempts) {",
        "if (0) {",
        ("rounds.again", "rounds.end", "rounds.believed", "rounds.plain", "rounds.fit", "rounds.names"),
    ),
    "loses_census_timeout": Mistake(
        "census.c", _TIMES_OUT, f"if (c->attempt == 1) {_TIMES_OUT}", ("rounds.again", "rounds.end", "rounds.names")
    ),
    "loses_period": Mistake("census.c", _NEXT_PERIOD, "        ;\n    else if", ("rounds.end",)),
    "counts_a_half": Mistake("joined.c", "    if (one->wrapped)\n", "    if (0)\n", ("rounds.again", "rounds.end")),
    "one_way_is_none": Mistake(
        "joined.c",
        "return single(cw->there ? cw : ccw, counted);",
        "return RHF_REJECTION_LOST;",
        ("rounds.end", "rounds.one_way", "rounds.once"),
    ),
    "tags_unchecked": Mistake(
        "verdict.c", "if (record.tag != rhw_tag(frame->epoch, frame->sequence, at))", "if (0)", ("rounds.believed",)
    ),
    "suspects_linger": Mistake("census.c", "    gpu->census.named = 0;\n", "", ("rounds.names",)),
    "never_slow": Mistake(
        "census.c", "c->degraded ? RHW_GPU_DEGRADED : RHW_GPU_WORKING", "RHW_GPU_WORKING", ("rounds.own_state",)
    ),
    "any_count": Mistake("census.c", "        return RHF_REJECTION_CHANGED;", "        return 0;", ("rounds.changed",)),
    "arms_are_a_ring": Mistake(
        "census.c", " || (c->last.verdict == RHW_VERDICT_ARMS) != arms)", " || (arms && 0))", ("rounds.changed",)
    ),
    "epoch_unchecked": Mistake("verdict.c", "frame->epoch != gpu->census.epoch || ", "", ("rounds.plain",)),
    "crc_unchecked": Mistake(
        "census.c", "|| (!bad && !rhw_intact(frame, length))", "", ("rounds.believed", "rounds.plain")
    ),
    "size_unchecked": Mistake(
        "verdict.c", "frame->expected != gpu->boot.gpus || ", "", ("rounds.believed", "rounds.plain")
    ),
    "more_than_records": Mistake("verdict.c", "(count != frame->count && !overflow) || ", "", ("rounds.believed",)),
    "lists_disagree": Mistake(
        "joined.c", "if (rhf_size_of(&counted->members) != counted->count)", "if (0)", ("rounds.fit",)
    ),
    "numbers_disagree": Mistake(
        "joined.c", "!cw->wrapped && cw->count != ccw->count ? RHF_REJECTION_DISAGREE : 0", "0", ("rounds.fit",)
    ),
    "takes_it_twice": Mistake(
        "census.c",
        "    } else if (c->home[direction]) {\n        reject(gpu, RHF_REJECTION_TWICE);",
        "    } else if (0) {\n        reject(gpu, RHF_REJECTION_TWICE);",
        ("rounds.once",),
    ),
    "tells_no_boundaries": Mistake(
        "census.c", "put_words(&at, &known->boundaries, words);", "at += 8 * words;", ("rounds.told",)
    ),
    "always_with_records": Mistake(
        "census.c", "records && (c->look ||", "records && (1 || c->look ||", ("rounds.changed",)
    ),
    # Links.
    "noisy_beside": Mistake(
        "links.c",
        "(uint16_t)(ccw ? record->id : (record->id + size - 1) % size)",
        "(uint16_t)(ccw ? (record->id + 1) % size : (record->id + size - 1) % size)",
        ("links.noisy",),
    ),
    "first_hop_is_never_late": Mistake("links.c", "late = (uint8_t)(took - *quickest);", "late = 0;", ("links.first",)),
    "noisy_for_ever": Mistake("links.c", "if (++links->quiet > FORGET)", "if (0)", ("links.noisy",)),
    "slow_too_soon": Mistake("links.c", "#define ROUNDS 4u", "#define ROUNDS 3u", ("links.slow",)),
    "two_agree": Mistake("links.c", "#define AGREEING 3u", "#define AGREEING 2u", ("links.as_much",)),
    "last_four_only": Mistake("links.c", "last <= rounds; ++last", "last <= ROUNDS; ++last", ("links.as_much",)),
    "bypassed_is_late": Mistake("links.c", " - (distance - 1) * BYPASS_HOP)", ")", ("links.bypassed",)),
    # Registers.
    "incapable": Mistake("gpu.c", "gpu->entry.there ? RHW_CONTROL_ENTRY_CAPABLE : 0", "0", ("registers.boot",)),
    "crosses_to_the_next_card_only": Mistake(
        "gpu.c", "on ? gpu->crossing.cards : 0", "on ? 1u << gpu->crossing.peer : 0", ("registers.link",)
    ),
    "exits_of_before": Mistake("gpu.c", "    gpu->exits = 0;\n", "", ("registers.entry",)),
    "counts_on": Mistake("gpu.c", "    gpu->census.running = gpu->census.under_way = 0;\n", "", ("registers.entry",)),
    "no_boot_clear": Mistake("gpu.c", _CLEARS, "", ("registers.boot",)),
    "depose_keeps_exits": Mistake(
        "gpu.c", _LAID_DOWN, "    rhf_say_cancel(&gpu->out, RHF_TIMEOUT);\n", ("registers.entry",)
    ),
    "exits_of_neighbours_only": Mistake(
        "gpu.c", "(uint32_t)gpu->behind[counted->peers[i]]", "1u << counted->peers[i]", ("registers.entry",)
    ),
    "keeps_crossings": Mistake("gpu.c", "on ? gpu->crossing.cards : 0", "gpu->crossing.cards", ("registers.link",)),
}
