/* Is a peer alive? It is down when it has been silent for too long, and must earn its way back. */
#include "rhf_state.h"

#define MOST_DOUBLINGS 6u
#define FORGIVEN_AFTER 8 /* times the current wait */

void rhf_liveness_begin(struct rhf_liveness *l) {
    struct rhf_liveness fresh = {0, 0, RHF_NEVER, 0, 0, 0};
    *l = fresh;
}

int rhf_liveness_fresh(const struct rhf_liveness *l, int64_t detection, int64_t now) {
    return l->heard_at != RHF_NEVER && now - l->heard_at <= detection;
}

enum rhf_went rhf_liveness_check(struct rhf_liveness *l, int64_t detection, int64_t wait_to_restore, int64_t now) {
    if (!l->up || l->heard_at == RHF_NEVER || rhf_liveness_fresh(l, detection, now))
        return RHF_STAYED;
    l->up = 0;
    int64_t longest = l->wait > wait_to_restore ? l->wait : wait_to_restore;
    if (l->heard_at - l->up_at >= FORGIVEN_AFTER * longest)
        l->doublings = 0;
    l->wait = wait_to_restore << l->doublings;
    if (l->doublings < MOST_DOUBLINGS)
        ++l->doublings;
    return RHF_DOWN;
}

enum rhf_went rhf_liveness_heard(struct rhf_liveness *l, int64_t detection, int64_t wait_to_restore, int64_t now) {
    if (l->heard_at == RHF_NEVER) { /* it has not failed yet: nothing to make good */
        l->heard_at = l->since_at = l->up_at = now;
        l->up = 1;
        return RHF_UP;
    }
    enum rhf_went went = rhf_liveness_check(l, detection, wait_to_restore, now);
    if (!rhf_liveness_fresh(l, detection, now))
        l->since_at = now;
    l->heard_at = now;
    if (went == RHF_STAYED && !l->up && now - l->since_at >= l->wait) {
        l->up = 1;
        l->up_at = now;
        return RHF_UP;
    }
    return went;
}
