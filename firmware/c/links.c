/* Health of the ring's links, from the records that come home: docs/howto/firmware.md, "The census". */
#include "rhf_state.h"

#define ROUNDS 4u /* late in a row, at least */
#define AGREEING 3u
#define FORGET 16u
#define HEALTHY_HOP 2u
#define BYPASS_HOP 1u

void rhf_links_begin(struct rhf_links *links) {
    links->slow = links->noisy = RHF_NOBODY;
    links->quiet = 0;
    links->any = 0;
    for (unsigned i = 0; i < RHF_MAX_GPUS; ++i) {
        links->late[i] = RHF_NEVER;
        links->rounds[i] = 0;
        for (unsigned port = 0; port < 2; ++port)
            links->quickest[i][port] = links->errors[i][port] = RHF_NEVER;
    }
}

static void count_errors(struct rhf_links *links, const struct rhw_record *record, unsigned ccw, unsigned size) {
    int16_t *seen = &links->errors[record->id][ccw];
    if (*seen != RHF_NEVER && *seen != record->errors) {
        links->noisy = (uint16_t)(ccw ? record->id : (record->id + size - 1) % size);
        links->quiet = 0;
    }
    *seen = record->errors;
}

void rhf_links_look(struct rhf_links *links, const struct rhf_gpu *gpu, const struct rhf_arm *arm, int64_t sent_at) {
    unsigned size = gpu->boot.gpus;
    struct rhw_record before, record;
    for (unsigned i = 1; i < arm->records; ++i) {
        rhw_unpack_record(&before, arm->bytes + (i - 1) * RHF_RECORD, RHF_RECORD);
        rhw_unpack_record(&record, arm->bytes + i * RHF_RECORD, RHF_RECORD);
        unsigned ccw = (record.flags & RHW_RECORD_PORT2) != 0;
        unsigned from = ccw ? record.id : before.id, to = ccw ? before.id : record.id;
        unsigned distance = (to + size - from) % size;
        uint8_t late;
        if (before.id != gpu->boot.gpu) {
            late = (uint8_t)(record.stamp - before.stamp - HEALTHY_HOP - (distance - 1) * BYPASS_HOP);
        } else if (arm->wrapped) {
            late = 0; /* one that comes home may make the other wait */
        } else {
            uint8_t took = (uint8_t)(record.stamp - (uint64_t)sent_at);
            int16_t *quickest = &links->quickest[record.id][ccw];
            if (*quickest == RHF_NEVER || took < *quickest)
                *quickest = took;
            late = (uint8_t)(took - *quickest);
        }
        if (links->late[from] == RHF_NEVER || late < links->late[from])
            links->late[from] = late;
        links->any = 1;
        count_errors(links, &record, ccw, size);
    }
}

/* Whether the quickest ones of the last rounds, four of them or more, agree. */
static int agree(const uint8_t *late, unsigned rounds) {
    for (unsigned last = ROUNDS; last <= rounds; ++last) {
        uint8_t least = 0xFF;
        unsigned times = 0;
        for (unsigned i = rounds - last; i < rounds; ++i) {
            if (late[i] < least) {
                least = late[i];
                times = 0;
            }
            times += late[i] == least;
        }
        if (times >= AGREEING)
            return 1;
    }
    return 0;
}

void rhf_links_round_over(struct rhf_links *links, unsigned size) {
    uint16_t found = RHF_NOBODY;
    if (!links->any)
        return;
    for (unsigned link = size; link-- > 0;) {
        uint8_t *last = links->last[link];
        if (links->late[link] <= 0) {
            links->rounds[link] = 0;
        } else {
            if (links->rounds[link] == RHF_WINDOW) {
                for (unsigned i = 1; i < RHF_WINDOW; ++i)
                    last[i - 1] = last[i];
                --links->rounds[link];
            }
            last[links->rounds[link]++] = (uint8_t)links->late[link];
            if (agree(last, links->rounds[link]) || link == links->slow)
                found = (uint16_t)link;
        }
        links->late[link] = RHF_NEVER;
    }
    links->slow = found;
    links->any = 0;
    if (++links->quiet > FORGET)
        links->noisy = RHF_NOBODY;
}
