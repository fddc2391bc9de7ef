/* Census: the entry GPU counts the ring. docs/howto/firmware.md, "The census". */
#include "rhf_state.h"
#include "ringhil_seal.h"

#include <string.h>

static void conclude(struct rhf_gpu *gpu, int64_t now);

static void reject(struct rhf_gpu *gpu, unsigned reason) {
    size_t room;
    struct rhf_rejected rejected = {(uint8_t)reason, gpu->census.sequence};
    uint8_t *at = rhf_say_begin(&gpu->out, &room);
    ++gpu->census.rejected;
    rhf_say_end(&gpu->out, rhf_pack_rejected(&rejected, at, room));
}

/* ---------------------------------------------------------------------------------------------------------- rounds */

static void send_message(struct rhf_gpu *gpu, unsigned ccw, int64_t now) {
    struct rhf_census *c = &gpu->census;
    uint8_t bytes[RHF_RECORD];
    struct rhw_record record = {
        gpu->boot.gpu,
        1,
        c->degraded ? RHW_GPU_DEGRADED : RHW_GPU_WORKING,
        (uint8_t)((gpu->entry.there ? RHW_RECORD_ENTRY_CAPABLE : 0u) |
                  (c->peer != RHW_NO_CARD ? RHW_RECORD_BOUNDARY : 0u)),
        gpu->boot.gpu_type,
        0,
        gpu->boot.weight,
        0,
        c->peer,
        0,
    };
    rhw_pack_record(&record, bytes, sizeof bytes);
    record.tag = rhw_tag(c->epoch, c->sequence, bytes);
    rhw_pack_record(&record, bytes, sizeof bytes);
    struct rhw_statistics message = {
        gpu->boot.card,
        (uint16_t)((ccw ? RHW_FLAG_CCW : 0u) | (c->with_records ? RHW_FLAG_WITH_RECORDS : 0u)),
        (uint16_t)(gpu->boot.gpus + 1),
        gpu->boot.gpu,
        c->epoch,
        c->sequence,
        1,
        c->with_records ? 1 : 0,
        gpu->boot.gpus,
        c->with_records ? RHW_MAX_RING : 0,
        (uint64_t)now,
        bytes,
        c->with_records ? sizeof bytes : 0,
    };
    size_t body = rhw_pack_statistics(&message, gpu->frame, sizeof gpu->frame);
    rhf_say_send(&gpu->out, ccw ? RHW_PORT_CCW : RHW_PORT_CW, gpu->frame, body, sizeof gpu->frame);
}

static void begin_round(struct rhf_gpu *gpu, int64_t now) {
    struct rhf_census *c = &gpu->census;
    int records = (gpu->boot.options & RHF_OPTION_RECORDS) != 0;
    ++c->sequence;
    ++c->attempt;
    c->sent_at = now;
    c->under_way = 1;
    for (unsigned direction = 0; direction < 2; ++direction)
        c->home[direction] = c->arms[direction].there = 0;
    c->with_records = records && (c->look || c->sequence % gpu->boot.refresh == 0);
    send_message(gpu, 0, now);
    send_message(gpu, 1, now);
    rhf_say_timer(&gpu->out, RHF_TIMEOUT, (int64_t)gpu->boot.timeout);
}

static void begin_period(struct rhf_gpu *gpu, int64_t now) {
    gpu->census.attempt = 0;
    gpu->census.named = 0;
    rhf_say_timer(&gpu->out, RHF_PERIOD, (int64_t)gpu->boot.period);
    begin_round(gpu, now);
}

void rhf_census_begin(struct rhf_gpu *gpu, uint32_t epoch, int64_t now) {
    struct rhf_census *c = &gpu->census;
    c->running = 1;
    c->epoch = epoch;
    c->sequence = c->rejected = 0;
    c->has_last = 0;
    c->look = 1;
    c->degraded = (gpu->status & RHW_STATUS_DEGRADED) != 0;
    rhf_links_begin(&c->links);
    begin_period(gpu, now);
}

void rhf_census_count_now(struct rhf_gpu *gpu, int64_t now) {
    if (!gpu->census.under_way)
        begin_period(gpu, now);
}

void rhf_census_timer(struct rhf_gpu *gpu, uint8_t timer, int64_t now) {
    if (timer == RHF_TIMEOUT && gpu->census.under_way)
        conclude(gpu, now);
    else if (timer == RHF_PERIOD && gpu->census.under_way)
        rhf_say_timer(&gpu->out, RHF_PERIOD, (int64_t)gpu->boot.period);
    else if (timer == RHF_PERIOD)
        begin_period(gpu, now);
}

/* ------------------------------------------------------------------------------------------------ what comes home */

/* Our message came home, but not to be believed: no need to wait for it any longer. */
static void spoilt(struct rhf_gpu *gpu, const struct rhw_statistics *message, unsigned reason, int bad, int64_t now) {
    struct rhf_census *c = &gpu->census;
    unsigned direction = (message->flags & RHW_FLAG_CCW) != 0;
    struct rhf_set found;
    reject(gpu, reason);
    if (!c->under_way || message->epoch != c->epoch || message->sequence != c->sequence ||
        message->origin != gpu->boot.gpu)
        return;
    if (rhf_suspects(gpu, message, bad, &found)) {
        for (unsigned i = 0; i < RHF_WORDS; ++i) {
            c->common.words[i] = c->named ? c->common.words[i] & found.words[i] : found.words[i];
            c->anybody.words[i] = c->named ? c->anybody.words[i] | found.words[i] : found.words[i];
        }
        c->named = 1;
    }
    c->home[direction] = 1;
    if (c->home[!direction])
        conclude(gpu, now);
}

void rhf_census_frame(struct rhf_gpu *gpu, const uint8_t *frame, size_t length, uint8_t port, int bad, int64_t now) {
    struct rhf_census *c = &gpu->census;
    struct rhw_statistics message;
    if (!rhf_well_formed(frame, length) || (!bad && !rhw_intact(frame, length))) {
        reject(gpu, RHF_REJECTION_CRC);
        return;
    }
    if (!rhw_unpack_statistics(&message, frame, length - RHW_TRAILER))
        return;
    if (bad) {
        spoilt(gpu, &message, RHF_REJECTION_LINK, 1, now);
        return;
    }
    unsigned why = rhf_judge(gpu, &message, port), direction = (message.flags & RHW_FLAG_CCW) != 0;
    if (why == RHF_REJECTION_STALE || !c->under_way) {
        reject(gpu, RHF_REJECTION_STALE);
    } else if (why) {
        spoilt(gpu, &message, why, 0, now);
    } else if (c->home[direction]) {
        reject(gpu, RHF_REJECTION_TWICE);
    } else {
        rhf_take(&c->arms[direction], &message);
        c->home[direction] = 1;
        if (c->home[!direction])
            conclude(gpu, now);
    }
}

/* --------------------------------------------------------------------------------------------------- what it means */

static void say_counted(struct rhf_gpu *gpu, const struct rhf_count *n) {
    uint8_t words[8 * (2 * RHF_WORDS + RHF_MAX_GPUS)];
    unsigned size = gpu->boot.gpus, each = (size + 63) / 64, count = 0;
    size_t room;
    uint64_t word;
    for (unsigned i = 0; n->known && i < 2 * each + size; ++i) {
        unsigned boundary = i - 2 * each;
        if (i < 2 * each)
            word = i < each ? n->members.words[i] : n->degraded.words[i - each];
        else if (rhf_has(&n->boundaries, boundary))
            word = (uint64_t)boundary << 8 | n->peers[boundary];
        else
            continue;
        for (unsigned byte = 0; byte < 8; ++byte)
            words[8 * count + byte] = (uint8_t)(word >> (56 - 8 * byte));
        ++count;
    }
    struct rhf_counted said = {(uint16_t)n->count, n->verdict,           n->break_after, n->break_before,
                               n->sequence,        (uint64_t)n->sent_at, n->weight,      (uint8_t)n->known,
                               words,              count};
    uint8_t *at = rhf_say_begin(&gpu->out, &room);
    rhf_say_end(&gpu->out, rhf_pack_counted(&said, at, room));
}

static void put_words(uint8_t **at, const struct rhf_set *set, unsigned words) {
    for (unsigned i = 0; i < words; ++i)
        for (unsigned byte = 0; byte < 8; ++byte)
            *(*at)++ = (uint8_t)(set->words[i] >> (56 - 8 * byte));
}

/* To the CPU: what was counted, or, with `counted` NULL, that nothing was; then what is known from before. */
static void report(struct rhf_gpu *gpu, const struct rhf_count *counted, const struct rhf_set *suspected) {
    struct rhf_census *c = &gpu->census;
    const struct rhf_count *known = counted ? counted : c->has_last ? &c->last : NULL;
    unsigned words = (gpu->boot.gpus + 63u) / 64u, suspects = suspected ? rhf_size_of(suspected) : 0, first = 0;
    uint8_t sets[3 * 8 * RHF_WORDS], *at = sets;
    memset(sets, 0, sizeof sets);
    if (suspected)
        put_words(&at, suspected, words);
    else if (counted && counted->known)
        put_words(&at, &counted->members, words);
    at = sets + 8 * words;
    if (known) {
        put_words(&at, &known->degraded, words);
        put_words(&at, &known->boundaries, words);
    }
    while (suspects && !rhf_has(suspected, first))
        ++first;
    uint32_t weight = known ? (known->weight ? known->weight : 4 * known->count) : 0;
    struct rhw_report message = {
        gpu->boot.card,
        RHW_FLAG_TO_HOST,
        1,
        gpu->boot.gpu,
        c->epoch,
        c->sequence,
        gpu->boot.gpu,
        (uint16_t)(known ? known->count : 0),
        gpu->boot.gpus,
        counted ? counted->verdict : RHW_VERDICT_NONE,
        counted ? counted->break_after : RHF_NOBODY,
        counted ? counted->break_before : RHF_NOBODY,
        c->rejected,
        (uint64_t)c->sent_at,
        (uint16_t)suspects,
        (uint16_t)(suspects ? first : RHF_NOBODY),
        c->links.slow,
        c->links.noisy,
        weight,
        0,
        sets,
        3u * 8u * words,
    };
    size_t body = rhw_pack_report(&message, gpu->frame, sizeof gpu->frame);
    rhf_say_send(&gpu->out, RHW_PORT_CPU, gpu->frame, body, sizeof gpu->frame);
}

/* Those whom every naming fits; where no one fits all, everybody named. */
static const struct rhf_set *suspected(const struct rhf_census *c) {
    if (!c->named)
        return NULL;
    return rhf_size_of(&c->common) ? &c->common : rhf_size_of(&c->anybody) ? &c->anybody : NULL;
}

static void say_suspected(struct rhf_gpu *gpu, const struct rhf_set *set) {
    uint8_t words[8 * RHF_MAX_GPUS];
    unsigned count = 0;
    size_t room;
    memset(words, 0, sizeof words);
    for (unsigned i = 0; i < RHF_MAX_GPUS; ++i)
        if (rhf_has(set, i)) {
            words[8 * count + 6] = (uint8_t)(i >> 8);
            words[8 * count++ + 7] = (uint8_t)i;
        }
    struct rhf_suspected said = {words, count};
    uint8_t *at = rhf_say_begin(&gpu->out, &room);
    rhf_say_end(&gpu->out, rhf_pack_suspected(&said, at, room));
}

/* A round that only counted confirms the last one with records, or shows that it must be repeated. */
static unsigned same_as_last(struct rhf_census *c) {
    struct rhf_count *n = &c->joined;
    uint8_t verdict = n->verdict;
    int arms = verdict == RHW_VERDICT_ARMS;
    if (!c->has_last || c->last.count != n->count || (c->last.verdict == RHW_VERDICT_ARMS) != arms)
        return RHF_REJECTION_CHANGED;
    uint32_t sequence = n->sequence;
    int64_t sent_at = n->sent_at;
    *n = c->last;
    n->verdict = verdict;
    n->sequence = sequence;
    n->sent_at = sent_at;
    return 0;
}

static void conclude(struct rhf_gpu *gpu, int64_t now) {
    struct rhf_census *c = &gpu->census;
    unsigned why = rhf_join(&c->arms[0], &c->arms[1], c->sequence, c->sent_at, &c->joined);
    if (!why && (gpu->boot.options & RHF_OPTION_RECORDS) && !c->joined.known)
        why = same_as_last(c);
    c->under_way = 0;
    rhf_say_cancel(&gpu->out, RHF_TIMEOUT);
    c->look = why != 0;
    if (!why) {
        for (unsigned direction = 0; direction < 2; ++direction)
            if (c->arms[direction].there)
                rhf_links_look(&c->links, gpu, &c->arms[direction], c->sent_at);
        rhf_links_round_over(&c->links, gpu->boot.gpus);
        c->last = c->joined;
        c->has_last = 1;
        say_counted(gpu, &c->joined);
        rhf_found_exits(gpu, &c->joined);
        report(gpu, &c->joined, NULL);
        if (gpu->boot.options & RHF_OPTION_BACK_TO_BACK)
            begin_period(gpu, now);
        return;
    }
    reject(gpu, why);
    if (c->attempt < gpu->boot.attempts) {
        begin_round(gpu, now);
        return;
    }
    const struct rhf_set *named = suspected(c);
    if (named)
        say_suspected(gpu, named);
    report(gpu, NULL, named);
}
