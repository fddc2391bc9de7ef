/* Requests of the firmware loop, each carried out and answered: docs/reference/firmware-loop.md. */
#include "rhf_state.h"
#include "ringhil_firmware.h"

#include <string.h>

#define HEAD 3u /* bytes of type and id */
#define MOST_TIME ((uint64_t)1 << 48)
#define LATEST ((uint64_t)1 << 62) /* cycle: all that is added to one stays a number */
#define NAME "ringhil C"

static size_t decline(uint16_t id, uint8_t why, const char *text, uint8_t *out, size_t room) {
    size_t length = 0;
    while (text[length])
        ++length;
    struct rhf_declined declined = {id, why, (const uint8_t *)text, length};
    return rhf_pack_declined(&declined, out, room);
}

static size_t attach_reply(uint16_t id, uint8_t *out, size_t room) {
    struct rhf_attach_reply reply = {id, RHF_MAJOR, RHF_MINOR, RH_LONGEST, (const uint8_t *)NAME, sizeof NAME - 1};
    return rhf_pack_attach_reply(&reply, out, room);
}

/* 0, or why it is declined. */
static uint8_t boot(struct rhf_gpu *gpu, const struct rhf_boot *told, const char **text) {
    memset(gpu, 0, sizeof *gpu);
    if (!told->gpus || told->gpus > RHF_MAX_GPUS || told->gpu >= told->gpus || !told->refresh) {
        *text = "that many GPUs are too many, or none";
        return RHF_WHY_NO_ROOM;
    }
    gpu->boot = *told;
    gpu->booted = 1;
    return 0;
}

static uint8_t group(struct rhf_gpu *gpu, const struct rhf_group *told, const char **text) {
    int boundary = told->role == RHW_ROLE_BOUNDARY;
    uint64_t times[] = {told->interval, told->jitter, told->slack, told->lease, told->skew, told->guard,
                        told->wait_to_restore};
    for (unsigned i = 0; i < sizeof times / sizeof *times; ++i)
        if (times[i] > MOST_TIME || told->jitter >= 0xFFFFFFFFu) {
            *text = "a time is too long";
            return RHF_WHY_NO_ROOM;
        }
    if (told->members_count > RHF_MAX_MEMBERS || told->multiplier >= RHF_MAX_KEPT || told->rank >= told->members_count) {
        *text = "a group has 24 members at most, and a multiplier of 15";
        return RHF_WHY_NO_ROOM;
    }
    if (boundary && !(gpu->boot.options & RHF_OPTION_ASKS))
        rhf_warden_begin(&gpu->warden, told, gpu->boot.memory);
    else
        rhf_member_begin(boundary ? &gpu->boundary : &gpu->entry, told);
    return 0;
}

static uint8_t routes(struct rhf_gpu *gpu, const struct rhf_routes *told) {
    for (unsigned i = 0; i < RHF_CARDS; ++i)
        gpu->behind[i] = i < told->behind_count ? rh_word(told->behind, i) : 0;
    return 0;
}

/* It is told about itself. 0, or why it is declined. */
static uint8_t told(struct rhf_gpu *gpu, const uint8_t *in, size_t length, const char **text) {
    union {
        struct rhf_boot boot;
        struct rhf_group group;
        struct rhf_crossing crossing;
        struct rhf_routes routes;
    } r;
    if (rhf_unpack_boot(&r.boot, in, length))
        return boot(gpu, &r.boot, text);
    if (rhf_unpack_group(&r.group, in, length))
        return group(gpu, &r.group, text);
    if (rhf_unpack_routes(&r.routes, in, length))
        return routes(gpu, &r.routes);
    if (!rhf_unpack_crossing(&r.crossing, in, length))
        return RHF_WHY_BAD_LENGTH;
    gpu->crossing = r.crossing;
    gpu->has_crossing = 1;
    return 0;
}

/* Something happens. The same. */
static uint8_t happens(struct rhf_gpu *gpu, const uint8_t *in, size_t length, const char **text) {
    union {
        struct rhf_start start; /* all begin as this does */
        struct rhf_timer timer;
        struct rhf_frame frame;
        struct rhf_count_now count_now;
    } r;
    if (!rhf_unpack_start(&r.start, in, length) && !rhf_unpack_timer(&r.timer, in, length) &&
        !rhf_unpack_frame(&r.frame, in, length) && !rhf_unpack_count_now(&r.count_now, in, length))
        return RHF_WHY_BAD_LENGTH;
    if (r.start.now > LATEST) {
        *text = "that cycle is too late";
        return RHF_WHY_NO_ROOM;
    }
    int64_t now = (int64_t)r.start.now;
    switch (rh_type(in, length)) {
    case RHF_TYPE_START:
        rhf_gpu_start(gpu, now);
        break;
    case RHF_TYPE_TIMER:
        rhf_gpu_timer(gpu, r.timer.timer, r.timer.status, now);
        break;
    case RHF_TYPE_FRAME:
        rhf_gpu_frame(gpu, r.frame.frame, r.frame.frame_length, r.frame.port, r.frame.bad, now);
        break;
    default:
        if (gpu->census.running)
            rhf_census_count_now(gpu, now);
    }
    return 0;
}

/* Carries it out; its actions go into `gpu->out`. 0, or why it is declined. */
static uint8_t carry_out(struct rhf_gpu *gpu, const uint8_t *in, size_t length, const char **text) {
    *text = "that is not its length";
    if (rh_type(in, length) != RHF_TYPE_BOOT && !gpu->booted) {
        *text = "boot comes first";
        return RHF_WHY_NOT_BOOTED;
    }
    switch (rh_type(in, length)) {
    case RHF_TYPE_BOOT:
    case RHF_TYPE_GROUP:
    case RHF_TYPE_CROSSING:
    case RHF_TYPE_ROUTES:
        return told(gpu, in, length, text);
    case RHF_TYPE_START:
    case RHF_TYPE_TIMER:
    case RHF_TYPE_FRAME:
    case RHF_TYPE_COUNT_NOW:
        return happens(gpu, in, length, text);
    default:
        *text = "that type is not known";
        return RHF_WHY_UNKNOWN_TYPE;
    }
}

size_t rhf_size(void) { return sizeof(struct rhf_gpu); }

size_t rhf_answer(void *state, const uint8_t *request, size_t length, uint8_t *answer, size_t room) {
    struct rhf_gpu *gpu = (struct rhf_gpu *)state;
    const char *text;
    uint16_t id = rh_id(request, length);
    if (room > RH_LONGEST)
        room = RH_LONGEST;
    if (room <= HEAD)
        return 0;
    if (rh_type(request, length) == RHF_TYPE_ATTACH)
        return attach_reply(id, answer, room);
    struct rhf_out out = {answer + HEAD, 0, room - HEAD, 0};
    gpu->out = out;
    uint8_t why = carry_out(gpu, request, length, &text);
    if (why)
        return decline(id, why, text, answer, room);
    if (gpu->out.full)
        return decline(id, RHF_WHY_NO_ROOM, "the answer is too long", answer, room);
    struct rhf_done done = {id, NULL, 0};
    return rhf_pack_done(&done, answer, room) + gpu->out.used;
}
