/* Is one statistics message that came home to be believed, and who may have spoiled it? docs/explanation/reliability.md. */
#include "rhf_state.h"
#include "ringhil_seal.h"

#include <string.h>

#define FLIT 8u
#define MAX_FRAME_FLITS (4u + 2u * RHW_MAX_RING + 1u)
#define SIGNED 12u /* bytes of a record that its tag covers */
#define FIXED_RESULT 40u
#define FIXED_ACKNOWLEDGEMENT 24u
#define WORK_HEADER 32u
#define SEGMENT_BYTES_AT 22u
#define SEGMENT_BYTES 256u

static size_t body_of(const uint8_t *frame, size_t length) {
    struct rhw_statistics s;
    struct rhw_report r;
    struct rhw_keepalive k;
    struct rhw_election e;
    size_t body = length - RHW_TRAILER, segment;
    switch (frame[0]) {
    case RHW_KIND_STATISTICS:
        return rhw_unpack_statistics(&s, frame, body) && s.records_count <= RHW_MAX_RING &&
               s.records_length == (size_t)s.records_count * RHF_RECORD;
    case RHW_KIND_REPORT:
        return rhw_unpack_report(&r, frame, body) && r.size <= RHW_MAX_RING &&
               r.sets_length == (r.size + 63u) / 64u * 24u;
    case RHW_KIND_KEEPALIVE:
        return (size_t)rhw_unpack_keepalive(&k, frame, body);
    case RHW_KIND_ELECTION:
        return (size_t)rhw_unpack_election(&e, frame, body);
    case RHW_KIND_RESULT:
        return body == FIXED_RESULT;
    case RHW_KIND_ACKNOWLEDGEMENT:
        return body == FIXED_ACKNOWLEDGEMENT;
    case RHW_KIND_WORK:
        if (body < WORK_HEADER)
            return 0;
        segment = (size_t)(frame[SEGMENT_BYTES_AT] << 8 | frame[SEGMENT_BYTES_AT + 1]);
        return segment <= SEGMENT_BYTES && body == WORK_HEADER + (segment + FLIT - 1) / FLIT * FLIT;
    default:
        return 0;
    }
}

int rhf_well_formed(const uint8_t *frame, size_t length) {
    return length > RHW_TRAILER && !(length % FLIT) && length <= MAX_FRAME_FLITS * FLIT && body_of(frame, length) != 0;
}

static unsigned judge_records(const struct rhf_gpu *gpu, const struct rhw_statistics *frame) {
    unsigned size = gpu->boot.gpus, count = frame->records_count, step = 0;
    int overflow = (frame->record_limit & RHW_OVERFLOW) != 0;
    struct rhw_record record;
    if (!count || (count != frame->count && !overflow) || count > frame->count)
        return RHF_REJECTION_COUNT;
    for (unsigned i = 0; i < count; ++i) {
        const uint8_t *at = frame->records + i * RHF_RECORD;
        rhw_unpack_record(&record, at, RHF_RECORD);
        if (record.hop != i + 1)
            return RHF_REJECTION_HOP;
        if (record.tag != rhw_tag(frame->epoch, frame->sequence, at))
            return RHF_REJECTION_TAG;
    }
    for (unsigned i = 0; i < count; ++i) {
        rhw_unpack_record(&record, frame->records + i * RHF_RECORD, RHF_RECORD);
        if (record.id >= size)
            return RHF_REJECTION_ORDER;
        unsigned here = frame->flags & RHW_FLAG_CCW ? gpu->boot.gpu + size - record.id : record.id + size - gpu->boot.gpu;
        here %= size;
        if (i ? here <= step : here != 0)
            return RHF_REJECTION_ORDER;
        step = here;
    }
    return 0;
}

unsigned rhf_judge(const struct rhf_gpu *gpu, const struct rhw_statistics *frame, uint8_t port) {
    int wrapped = (frame->flags & RHW_FLAG_WRAPPED) != 0, ccw = (frame->flags & RHW_FLAG_CCW) != 0;
    if (frame->epoch != gpu->census.epoch || frame->sequence != gpu->census.sequence)
        return RHF_REJECTION_STALE;
    if (frame->origin != gpu->boot.gpu)
        return RHF_REJECTION_ORIGIN;
    if (frame->flags & RHW_FLAG_CIRCULATING)
        return RHF_REJECTION_CIRCULATING;
    if ((port == RHW_PORT_CCW) != (ccw != wrapped))
        return RHF_REJECTION_PORT;
    if (frame->expected != gpu->boot.gpus || !frame->count || frame->count > gpu->boot.gpus)
        return RHF_REJECTION_COUNT;
    return frame->flags & RHW_FLAG_WITH_RECORDS ? judge_records(gpu, frame) : 0;
}

void rhf_take(struct rhf_arm *arm, const struct rhw_statistics *frame) {
    int with_records = (frame->flags & RHW_FLAG_WITH_RECORDS) != 0;
    arm->there = 1;
    arm->known = with_records && !(frame->record_limit & RHW_OVERFLOW);
    arm->wrapped = (frame->flags & RHW_FLAG_WRAPPED) != 0;
    arm->count = frame->count;
    arm->records = with_records ? frame->records_count : 0;
    memcpy(arm->bytes, frame->records, arm->records * RHF_RECORD);
}

static unsigned id_of(const struct rhw_statistics *frame, unsigned i) {
    return (unsigned)(frame->records[i * RHF_RECORD] << 8 | frame->records[i * RHF_RECORD + 1]);
}

static int is_there(const struct rhw_statistics *frame, unsigned gpu) {
    for (unsigned i = 0; i < frame->records_count; ++i)
        if (id_of(frame, i) == gpu)
            return 1;
    return 0;
}

/* The least number that two records have: one has stolen it, or is a neighbour who is not among them. */
static int twice(const struct rhw_statistics *frame, unsigned size, struct rhf_set *found) {
    unsigned least = RHF_NONE;
    struct rhf_set seen;
    memset(&seen, 0, sizeof seen);
    for (unsigned i = 0; i < frame->records_count; ++i) {
        unsigned id = id_of(frame, i);
        if (rhf_has(&seen, id) && id < least)
            least = id;
        rhf_add(&seen, id);
    }
    if (least == RHF_NONE)
        return 0;
    rhf_add(found, least);
    unsigned before = (least + size - 1) % size, after = (least + 1) % size;
    if (!is_there(frame, before))
        rhf_add(found, before);
    if (!is_there(frame, after))
        rhf_add(found, after);
    return 1;
}

static int named(const struct rhf_gpu *gpu, const struct rhw_statistics *frame, int arrived_bad, struct rhf_set *found) {
    unsigned size = gpu->boot.gpus, before = gpu->boot.gpu;
    int ccw = (frame->flags & RHW_FLAG_CCW) != 0;
    struct rhw_record record;
    memset(found, 0, sizeof *found);
    if (twice(frame, size, found))
        return 1;
    for (unsigned i = 0; i < frame->records_count; ++i) {
        rhw_unpack_record(&record, frame->records + i * RHF_RECORD, RHF_RECORD);
        if (record.flags & RHW_RECORD_ARRIVED_BAD) {
            rhf_add(found, before);
            rhf_add(found, record.id);
            return 1;
        }
        if (record.flags & RHW_RECORD_ARRIVED_MARKED) { /* a switch in bypass between them found it bad */
            unsigned id = record.id % size, from = before % size;
            unsigned way = ccw ? (from + size - id) % size : (id + size - from) % size;
            rhf_add(found, before);
            for (unsigned step = 1; step < way; ++step)
                rhf_add(found, ccw ? (from + size - step) % size : (from + step) % size);
            return 1;
        }
        if (record.hop != i + 1) {
            rhf_add(found, record.id);
            return 1;
        }
        before = record.id;
    }
    if (!arrived_bad || !frame->records_count) /* without records nothing tells over which link it was damaged */
        return 0;
    rhf_add(found, before);
    rhf_add(found, gpu->boot.gpu);
    return 1;
}

/* A damaged message may hold numbers of no GPU of the ring; these name nobody. */
int rhf_suspects(const struct rhf_gpu *gpu, const struct rhw_statistics *frame, int arrived_bad, struct rhf_set *found) {
    if (!named(gpu, frame, arrived_bad, found))
        return 0;
    for (unsigned word = 0; word < RHF_WORDS; ++word) {
        unsigned first = 64u * word, size = gpu->boot.gpus;
        if (size <= first)
            found->words[word] = 0;
        else if (size - first < 64u)
            found->words[word] &= ((uint64_t)1 << (size - first)) - 1u;
    }
    return rhf_size_of(found) > 0;
}
