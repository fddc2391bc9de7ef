#include "ringhil_driver.h"

#include "ringhil_seal.h"

#include <string.h>

#define TRIES 30u
#define FIRST_UNIT 0x80000000u /* units below are work */
#define NUMBERS 0x07FFFFFFu    /* of commands: between this bit and the context's number */
#define WORK_HEAD 32u

/* ------------------------------------------------------------------------------------------------------ the line */

static int write_line(void *context, const uint8_t *data, size_t length) {
    struct rh_driver *driver = context;
    return driver->line.write(driver->line.context, data, length);
}

static int read_line(void *context, uint8_t *byte, int restart) {
    struct rh_driver *driver = context;
    return driver->line.read(driver->line.context, byte, restart);
}

static int is(const struct rh_answer *answer, uint16_t status) { return !answer->refusal && answer->status == status; }

/* What comes to `asked`. Behind the word that a launch has been taken its end may come before that is looked at; not the
 * other way round. */
static void hear_of(struct rh_asked *asked, const struct rh_answer *answer) {
    if (!asked->answered || is(&asked->answer, RHW_ANSWER_STARTED)) {
        asked->answered = 1;
        asked->answer = *answer;
    }
}

static void answered(struct rh_driver *driver, uint8_t card, uint16_t gpu, uint32_t unit,
                     const struct rh_answer *answer) {
    if (card != driver->card || answer->refusal == RHW_REFUSAL_BUSY || answer->refusal == RHW_REFUSAL_INCOMPLETE)
        return; /* these two have reached nobody: a segment was lost */
    for (struct rh_context *each = driver->contexts; each; each = each->next) {
        if (each->gpu != gpu)
            continue;
        if (each->out.waits && each->out.unit == unit)
            hear_of(&each->out, answer);
        else if (each->launch.waits && each->launch.unit == unit) {
            each->launch.heard = 1;
            if (!is(answer, RHW_ANSWER_STARTED))
                hear_of(&each->launch, answer);
        }
    }
}

static void on_event(void *context, const uint8_t *message, size_t length) {
    struct rh_driver *driver = context;
    struct rh_frame_event event;
    struct rhw_result result;
    struct rhw_acknowledgement refusal;
    struct rh_answer answer = {0, 0, 0, 0};
    if (rh_unpack_frame_event(&event, message, length) && event.way == RH_WAY_TO_CPU) {
        if (event.bad || !rhw_intact(event.frame, event.frame_length))
            return;
        size_t body = event.frame_length - RHW_TRAILER;
        if (rhw_unpack_result(&result, event.frame, body) && result.status <= RHW_ANSWER_STARTED) {
            answer.status = result.status;
            answer.digest = result.digest;
            answer.cycles = result.cycles;
            answered(driver, result.source_card, result.source, result.unit, &answer);
        } else if (rhw_unpack_acknowledgement(&refusal, event.frame, body) && refusal.status >= RHW_REFUSAL_BUSY &&
                   refusal.status <= RHW_REFUSAL_EXISTS) {
            answer.refusal = refusal.status;
            answered(driver, refusal.source_card, refusal.source, refusal.unit, &answer);
        }
    } else if (driver->on_event) {
        driver->on_event(driver->line.context, message, length);
    }
}

void rh_driver_init(struct rh_driver *driver, struct rh_stream line, uint8_t *in, size_t in_room, uint8_t *out,
                    size_t out_room) {
    struct rh_stream own = {driver, write_line, read_line};
    rh_client_init(&driver->client, own, in, in_room, out, out_room);
    driver->client.on_event = on_event;
    driver->line = line;
    driver->contexts = 0;
    driver->tries = TRIES;
    driver->line_status = RH_OK;
    driver->number = driver->epoch = driver->resent = 0;
    driver->entry = driver->size = 0;
    driver->card = driver->counted = driver->named = 0;
    driver->on_event = 0;
}

enum rh_status rh_driver_start(struct rh_driver *driver, const char *name) {
    struct rh_hello_reply hello;
    enum rh_status status = rh_hello(&driver->client, name, &hello);
    if (status != RH_OK)
        return status;
    driver->card = hello.card;
    /* A command takes more than 16 cycles: these numbers are higher than those of whoever was here before. */
    driver->number = (uint32_t)(hello.now >> 4) & NUMBERS;
    return rh_subscribe(&driver->client, RH_EVENTS_ANSWERS);
}

void rh_attach(struct rh_driver *driver, struct rh_context *context, uint16_t gpu, uint8_t number, uint32_t key) {
    static const struct rh_asked nothing = {0, 0, 0, 0, 0, 0, 0, {0, 0, 0, 0}};
    context->gpu = gpu;
    context->number = number;
    context->key = key;
    context->lost = 0;
    context->out = context->launch = nothing;
    context->next = driver->contexts;
    driver->contexts = context;
}

void rh_detach(struct rh_driver *driver, struct rh_context *context) {
    struct rh_context **at = &driver->contexts;
    while (*at && *at != context)
        at = &(*at)->next;
    if (*at)
        *at = context->next;
}

/* -------------------------------------------------------------------------------------------- who is on the card */

static int is_counted(const struct rh_driver *driver, uint16_t gpu) {
    return !driver->named || (gpu < RHW_MAX_RING && driver->members[gpu / 8u] >> gpu % 8u & 1u);
}

/* What the last census says. Contexts of GPUs that it doesn't count are lost. Whether there is a line. */
static int look(struct rh_driver *driver) {
    struct rh_last_census_reply census;
    enum rh_status status = rh_last_census(&driver->client, &census);
    if (status != RH_OK && status != RH_REFUSED) {
        driver->line_status = status;
        return 0;
    }
    driver->counted = status == RH_OK && census.size && census.size <= RHW_MAX_RING && census.entry < census.size;
    if (!driver->counted)
        return 1; /* nobody has counted it yet */
    driver->epoch = census.epoch;
    driver->entry = census.entry;
    driver->size = census.size;
    driver->named = 0;
    for (size_t i = 0; i < sizeof driver->members; ++i) {
        size_t word = i / 8u;
        uint64_t bits = word < census.members_count ? rh_word(census.members, word) : 0;
        driver->members[i] = (uint8_t)(bits >> (8u * (i % 8u)));
        driver->named |= (uint8_t)(driver->members[i] != 0);
    }
    for (struct rh_context *each = driver->contexts; each; each = each->next)
        if (!is_counted(driver, each->gpu))
            each->lost = 1;
    return 1;
}

/* ------------------------------------------------------------------------------------------------------- sending */

struct rh_payload {
    uint8_t head[RH_COMMAND_HEAD];
    const uint8_t *data;
    size_t length; /* of both */
};

static void put32(uint8_t *out, uint32_t value) {
    for (unsigned i = 0; i < 4; ++i)
        out[i] = (uint8_t)(value >> (24u - 8u * i));
}

static void pack_head(struct rh_payload *payload, uint32_t key, uint32_t amount, const struct rh_settings *settings) {
    put32(payload->head, key);
    put32(payload->head + 4, amount);
    put32(payload->head + 8, settings ? settings->slice : 0);
    put32(payload->head + 12, settings ? settings->state & 0xFFFFFFu : 0);
    payload->head[12] = settings ? settings->priority : 0;
}

/* Bytes `from` to `to` of a command, into `out`. */
static void copy_part(const struct rh_payload *payload, size_t from, size_t to, uint8_t *out) {
    for (; from < to && from < RH_COMMAND_HEAD; ++from)
        *out++ = payload->head[from];
    if (from < to)
        memcpy(out, payload->data + (from - RH_COMMAND_HEAD), to - from);
}

/* One segment; 0: the line is gone. `sent`: it has gone out. */
static int send_segment(struct rh_driver *driver, const struct rh_context *context, const struct rh_asked *asked,
                        const struct rh_payload *payload, size_t number, int *sent) {
    uint16_t distance = (uint16_t)((context->gpu + driver->size - driver->entry) % driver->size);
    int ccw = (distance > driver->size / 2u) != (asked->attempt % 2u == 0);
    size_t from = number * RHW_SEGMENT, to = from + RHW_SEGMENT;
    struct rhw_work work;
    int last = to >= payload->length;
    if (last)
        to = payload->length;
    work.card = work.source_card = driver->card;
    work.flags = (uint16_t)((last ? RHW_FLAG_LAST : 0u) | (ccw ? RHW_FLAG_CCW : 0u));
    work.ttl = (uint16_t)(driver->size + 1u);
    work.destination = context->gpu;
    work.epoch = driver->epoch;
    work.unit = asked->unit;
    work.source = driver->entry;
    work.attempt = asked->attempt;
    work.segment = (uint16_t)number;
    work.segment_bytes = (uint16_t)(to - from);
    work.length = (uint32_t)payload->length;
    work.compute = asked->compute;
    work.context = context->number;
    work.payload = 0;
    work.payload_length = 0;
    size_t whole = (to - from + 7u) / 8u * 8u;
    size_t head = rhw_pack_work(&work, driver->frame, sizeof driver->frame);
    for (size_t i = to - from; i < whole; ++i)
        driver->frame[head + i] = 0;
    copy_part(payload, from, to, driver->frame + head);
    size_t length = rhw_seal(driver->frame, head + whole, sizeof driver->frame);
    struct rh_send request = {rh_next_id(&driver->client), driver->entry, RHW_PORT_CPU, driver->frame, length};
    size_t packed = rh_pack_send(&request, driver->request, sizeof driver->request);
    const uint8_t *reply = 0;
    size_t reply_length = 0;
    enum rh_status status = rh_ask(&driver->client, driver->request, packed, &reply, &reply_length);
    /* Refused: that is not the entry GPU any more, and the next attempt goes to who is. Any other reason stays. */
    if (status == RH_REFUSED && driver->client.refusal.why != RH_REFUSAL_NO_ENTRY_GPU) {
        driver->line_status = status;
        return 0;
    }
    if (status != RH_OK && status != RH_REFUSED) {
        driver->line_status = status;
        return 0;
    }
    *sent = status == RH_OK;
    return 1;
}

/* Once more, if it has been before; not while the card has no entry GPU. 0: the line is gone. */
static int send_command(struct rh_driver *driver, struct rh_context *context, struct rh_asked *asked,
                        const struct rh_payload *payload) {
    int sent = 1;
    if (!look(driver))
        return 0;
    asked->attempt = (uint16_t)(asked->attempt + 1u);
    driver->resent += asked->attempt > 1u;
    if (!driver->counted || context->lost || context->gpu >= driver->size)
        return 1;
    for (size_t i = 0; sent && i * RHW_SEGMENT < payload->length; ++i)
        if (!send_segment(driver, context, asked, payload, i, &sent))
            return 0;
    return 1;
}

/* Until it is answered, or the line's time is over. 0: the line is gone. */
static int listen_for(struct rh_driver *driver, const struct rh_asked *asked) {
    for (int restart = 1; !asked->answered; restart = 0) {
        size_t length = 0;
        enum rh_status status = rh_hear(&driver->client, restart, &length);
        if (status == RH_SILENT)
            return 1;
        if (status != RH_OK) {
            driver->line_status = status;
            return 0;
        }
    }
    return 1;
}

static enum rh_told told(const struct rh_answer *answer) {
    return is(answer, RHW_ANSWER_DONE) || is(answer, RHW_ANSWER_STARTED) ? RH_TOLD_DONE : RH_TOLD_REFUSED;
}

static uint32_t next_unit(struct rh_driver *driver, const struct rh_context *context) {
    driver->number = (driver->number + 1u) & NUMBERS;
    return FIRST_UNIT | driver->number << 4 | context->number;
}

/* Send it until it is answered. */
static enum rh_told carry_out(struct rh_driver *driver, struct rh_context *context, const struct rh_payload *payload) {
    struct rh_asked *out = &context->out;
    out->unit = next_unit(driver, context);
    out->attempt = 0;
    out->answered = 0;
    out->waits = 1;
    enum rh_told end = RH_TOLD_LOST; /* unless it is answered */
    for (unsigned i = 0; i < driver->tries && !out->answered; ++i) {
        int line = send_command(driver, context, out, payload);
        if (line && context->lost)
            break;
        if (!line || !listen_for(driver, out)) {
            end = RH_TOLD_LINE;
            break;
        }
    }
    out->waits = 0;
    return out->answered ? told(&out->answer) : end;
}

static enum rh_told ask(struct rh_driver *driver, struct rh_context *context, uint8_t compute, uint32_t amount,
                        const struct rh_settings *settings, const uint8_t *data, size_t length,
                        struct rh_answer *answer) {
    static const struct rh_answer nothing = {0, 0, 0, 0};
    struct rh_payload payload;
    *answer = nothing;
    if (length > RH_MOST_DATA || context->number >= RHW_CONTEXTS ||
        (compute == RHW_COMPUTE_LAUNCH && context->launch.waits))
        return RH_TOLD_WRONG;
    if (compute == RHW_COMPUTE_CREATE)
        context->lost = 0; /* its GPU may be back */
    else if (context->lost)
        return RH_TOLD_LOST;
    pack_head(&payload, context->key, amount, settings);
    payload.data = data;
    payload.length = RH_COMMAND_HEAD + length;
    context->out.compute = compute;
    context->out.amount = amount;
    enum rh_told end = carry_out(driver, context, &payload);
    /* The end of the launch before is still to be told, once more, and nobody waits for it: under another number. */
    for (unsigned i = 0; i < driver->tries && end == RH_TOLD_REFUSED && is(&context->out.answer, RHW_ANSWER_RUNNING); ++i) {
        context->out.answered = 0;
        if (i && !listen_for(driver, &context->out))
            return RH_TOLD_LINE;
        end = carry_out(driver, context, &payload);
    }
    if (context->out.answered)
        *answer = context->out.answer;
    return end;
}

/* ------------------------------------------------------------------------------------------------------ commands */

enum rh_told rh_create(struct rh_driver *driver, struct rh_context *context, const struct rh_settings *settings,
                       struct rh_answer *answer) {
    return ask(driver, context, RHW_COMPUTE_CREATE, settings->limit, settings, 0, 0, answer);
}

enum rh_told rh_configure(struct rh_driver *driver, struct rh_context *context, const struct rh_settings *settings,
                          struct rh_answer *answer) {
    return ask(driver, context, RHW_COMPUTE_CONFIGURE, settings->limit, settings, 0, 0, answer);
}

enum rh_told rh_allocate(struct rh_driver *driver, struct rh_context *context, uint32_t pages,
                         struct rh_answer *answer) {
    return ask(driver, context, RHW_COMPUTE_ALLOCATE, pages, 0, 0, 0, answer);
}

enum rh_told rh_free(struct rh_driver *driver, struct rh_context *context, uint32_t pages, struct rh_answer *answer) {
    return ask(driver, context, RHW_COMPUTE_FREE, pages, 0, 0, 0, answer);
}

enum rh_told rh_copy(struct rh_driver *driver, struct rh_context *context, uint32_t page, const uint8_t *data,
                     size_t length, struct rh_answer *answer) {
    return ask(driver, context, RHW_COMPUTE_COPY, page, 0, data, length, answer);
}

enum rh_told rh_launch(struct rh_driver *driver, struct rh_context *context, uint32_t cycles,
                       struct rh_answer *answer) {
    enum rh_told end = ask(driver, context, RHW_COMPUTE_LAUNCH, cycles, 0, 0, 0, answer);
    int over = end == RH_TOLD_REFUSED && is(answer, RHW_ANSWER_CANCELLED);
    if (end == RH_TOLD_DONE || over) {
        context->launch = context->out;
        context->launch.waits = 1;
        context->launch.answered = over || answer->status != RHW_ANSWER_STARTED;
        end = RH_TOLD_DONE;
    }
    return end;
}

enum rh_told rh_wait(struct rh_driver *driver, struct rh_context *context, struct rh_answer *answer) {
    static const struct rh_answer nothing = {0, 0, 0, 0};
    struct rh_asked *launch = &context->launch;
    struct rh_payload payload = {{0}, 0, RH_COMMAND_HEAD};
    enum rh_told end = RH_TOLD_LOST;
    *answer = nothing;
    if (!launch->waits)
        return RH_TOLD_WRONG;
    pack_head(&payload, context->key, launch->amount, 0);
    /* A GPU that says so may have it as long as it takes. */
    for (unsigned unheard = 0; !launch->answered && !context->lost && unheard < driver->tries;) {
        if (!listen_for(driver, launch) || (!launch->answered && !send_command(driver, context, launch, &payload))) {
            end = RH_TOLD_LINE;
            break;
        }
        unheard = launch->heard ? 0 : unheard + 1u;
        launch->heard = 0;
    }
    if (end == RH_TOLD_LINE)
        return end; /* it may be waited for again */
    launch->waits = 0;
    if (!launch->answered || launch->answer.refusal == RHW_REFUSAL_NO_CONTEXT)
        return RH_TOLD_LOST;
    *answer = launch->answer;
    return told(answer);
}

enum rh_told rh_cancel(struct rh_driver *driver, struct rh_context *context, struct rh_answer *answer) {
    return ask(driver, context, RHW_COMPUTE_CANCEL, 0, 0, 0, 0, answer);
}

enum rh_told rh_query(struct rh_driver *driver, struct rh_context *context, uint32_t what, struct rh_answer *answer) {
    return ask(driver, context, RHW_COMPUTE_QUERY, what, 0, 0, 0, answer);
}

enum rh_told rh_destroy(struct rh_driver *driver, struct rh_context *context, struct rh_answer *answer) {
    return ask(driver, context, RHW_COMPUTE_DESTROY, 0, 0, 0, 0, answer);
}

/* --------------------------------------------------------------------------------------------------------- words */

static const char *refusal_text(uint16_t refusal) {
    switch (refusal) {
    case RHW_REFUSAL_NO_CONTEXT:
        return "there is no such context";
    case RHW_REFUSAL_FOREIGN:
        return "the context is another's";
    case RHW_REFUSAL_EXISTS:
        return "the context is there already";
    default:
        return "the GPU doesn't know such a command";
    }
}

const char *rh_told_text(enum rh_told what, const struct rh_answer *answer) {
    if (what == RH_TOLD_LOST)
        return "the GPU was lost";
    if (what == RH_TOLD_LINE)
        return "the management port doesn't answer, or refuses";
    if (what == RH_TOLD_WRONG)
        return "this is no command";
    if (answer->refusal)
        return refusal_text(answer->refusal);
    switch (answer->status) {
    case RHW_ANSWER_OVER_LIMIT:
        return "it may have no more memory";
    case RHW_ANSWER_NO_MEMORY:
        return "the GPU has no more memory";
    case RHW_ANSWER_INVALID:
        return "the context can't do that";
    case RHW_ANSWER_RUNNING:
        return "the context has a launch already";
    case RHW_ANSWER_CANCELLED:
        return "the launch was cancelled";
    case RHW_ANSWER_STARTED:
        return "started";
    default:
        return "done";
    }
}
