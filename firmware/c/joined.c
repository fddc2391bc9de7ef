/* What the two directions of a round say together; or the reason why that is no count. */
#include "rhf_state.h"

#include <string.h>

static struct rhw_record record_of(const struct rhf_arm *arm, unsigned i) {
    struct rhw_record record;
    rhw_unpack_record(&record, arm->bytes + i * RHF_RECORD, RHF_RECORD);
    return record;
}

static void members_of(const struct rhf_arm *arm, struct rhf_set *members) {
    for (unsigned i = 0; i < arm->records; ++i)
        rhf_add(members, record_of(arm, i).id);
}

/* What the records say of their GPUs: who is degraded, who speaks to which card, the weight of all. Of a GPU that both
 * directions have counted the record of the second one counts. */
static void tell(const struct rhf_arm *arm, const struct rhf_set *elsewhere, struct rhf_count *counted) {
    for (unsigned i = 0; i < arm->records; ++i) {
        struct rhw_record record = record_of(arm, i);
        int degraded = record.state == RHW_GPU_DEGRADED;
        if (rhf_has(elsewhere, record.id))
            continue;
        if (degraded)
            rhf_add(&counted->degraded, record.id);
        if (record.flags & RHW_RECORD_BOUNDARY) {
            rhf_add(&counted->boundaries, record.id);
            counted->peers[record.id] = record.peer;
        }
        counted->weight += record.weight * (degraded ? 1u : 4u);
    }
}

static void tell_both(const struct rhf_arm *cw, const struct rhf_arm *ccw, struct rhf_count *counted) {
    struct rhf_set nobody, second;
    memset(&nobody, 0, sizeof nobody);
    memset(&second, 0, sizeof second);
    members_of(ccw, &second);
    tell(cw, &second, counted);
    tell(ccw, &nobody, counted);
}

static uint16_t last_of(const struct rhf_arm *arm) { return record_of(arm, arm->records - 1).id; }

static unsigned single(const struct rhf_arm *one, struct rhf_count *counted) {
    struct rhf_set nobody;
    memset(&nobody, 0, sizeof nobody);
    if (one->wrapped)
        return RHF_REJECTION_HALF;
    counted->count = one->count;
    counted->verdict = RHW_VERDICT_SINGLE;
    counted->known = one->known;
    if (one->known)
        members_of(one, &counted->members);
    tell(one, &nobody, counted);
    return 0;
}

unsigned rhf_join(const struct rhf_arm *cw, const struct rhf_arm *ccw, uint32_t sequence, int64_t sent_at,
                  struct rhf_count *counted) {
    memset(counted, 0, sizeof *counted);
    counted->sequence = sequence;
    counted->sent_at = sent_at;
    counted->break_after = counted->break_before = RHF_NOBODY;
    if (!cw->there && !ccw->there)
        return RHF_REJECTION_LOST;
    if (!cw->there || !ccw->there)
        return single(cw->there ? cw : ccw, counted);
    if (cw->wrapped != ccw->wrapped)
        return RHF_REJECTION_MIXED;
    counted->verdict = cw->wrapped ? RHW_VERDICT_ARMS : RHW_VERDICT_RING;
    counted->count = cw->wrapped ? cw->count + ccw->count - 1 /* this GPU is in both */
                                 : (cw->count > ccw->count ? cw->count : ccw->count);
    if (!cw->known || !ccw->known)
        return !cw->wrapped && cw->count != ccw->count ? RHF_REJECTION_DISAGREE : 0;
    counted->known = 1;
    members_of(cw, &counted->members);
    members_of(ccw, &counted->members);
    if (rhf_size_of(&counted->members) != counted->count)
        return RHF_REJECTION_DISAGREE;
    if (cw->wrapped) {
        counted->break_after = last_of(cw);
        counted->break_before = last_of(ccw);
    }
    tell_both(cw, ccw, counted);
    return 0;
}
