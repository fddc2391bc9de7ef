/*
 * What the parts of the firmware know, and what they call of one another. Times are cycles; -1: never, or not known.
 */
#ifndef RHF_STATE_H
#define RHF_STATE_H

#include "ringhil_firmware_messages.h"
#include "ringhil_frames.h"

#ifndef RHF_MAX_GPUS
#define RHF_MAX_GPUS RHW_MAX_RING /* of a ring; a board may have room for fewer */
#endif
#define RHF_MAX_MEMBERS 24u /* of a group: what one answer tells all of them fits into a message */
#define RHF_MAX_KEPT 16u    /* keepalives and claims that are remembered: multiplier + 1 */
#define RHF_CARDS 16u
#define RHF_RECORD 16u /* bytes */
#define RHF_WORDS (RHF_MAX_GPUS / 64u)
#define RHF_NEVER (-1)
#define RHF_NONE 0xFFFFFFFFu /* no rank */

/* ------------------------------------------------------------------------------------------------------- actions */

struct rhf_out {
    uint8_t *at;
    size_t used, room;
    int full; /* something found no room */
};

void rhf_say_send(struct rhf_out *out, uint8_t port, uint8_t *frame, size_t body, size_t room);
void rhf_say_timer(struct rhf_out *out, uint8_t timer, int64_t delay);
void rhf_say_cancel(struct rhf_out *out, uint8_t timer);
void rhf_say_write(struct rhf_out *out, uint8_t address, uint32_t value);
/* An action as it is packed by `pack`: begin, pack into `at` with `room`, end. */
uint8_t *rhf_say_begin(struct rhf_out *out, size_t *room);
void rhf_say_end(struct rhf_out *out, size_t length);

enum { RHF_TICK = 0, RHF_WAKE = 1, RHF_PERIOD = 4, RHF_TIMEOUT = 5 }; /* timers; the boundary group's first two: + 2 */

/* ---------------------------------------------------------------------------------------------------------- sets */

struct rhf_set {
    uint64_t words[RHF_WORDS];
};

int rhf_has(const struct rhf_set *set, unsigned gpu);
void rhf_add(struct rhf_set *set, unsigned gpu);
unsigned rhf_size_of(const struct rhf_set *set);

/* -------------------------------------------------------------------------------------------------------- census */

/* A message that came home and was accepted. `known`: who was counted. */
struct rhf_arm {
    int there, known, wrapped;
    unsigned count, records;
    uint8_t bytes[RHF_MAX_GPUS * RHF_RECORD];
};

struct rhf_count {
    unsigned count;
    int known;
    uint8_t verdict;
    uint16_t break_after, break_before;
    uint32_t sequence;
    int64_t sent_at;
    uint32_t weight;
    struct rhf_set members, degraded, boundaries;
    uint8_t peers[RHF_MAX_GPUS]; /* of boundary GPUs */
};

enum { RHF_WINDOW = 8 };

struct rhf_links {
    uint16_t slow, noisy; /* RHF_NOBODY: none */
    unsigned quiet;       /* rounds since the noisy link was last heard of */
    int any;
    int16_t late[RHF_MAX_GPUS]; /* of this round, -1: not seen */
    uint8_t rounds[RHF_MAX_GPUS], last[RHF_MAX_GPUS][RHF_WINDOW];
    int16_t quickest[RHF_MAX_GPUS][2], errors[RHF_MAX_GPUS][2];
};

struct rhf_census {
    int running;
    uint32_t epoch, sequence, rejected;
    int has_last, degraded;
    uint8_t peer; /* card that this GPU itself speaks to as a boundary GPU */
    int64_t sent_at;
    unsigned attempt;
    int under_way, home[2]; /* a round; a direction has come home, accepted or not */
    struct rhf_arm arms[2];
    int named;
    struct rhf_set common, anybody; /* whom all namings fit; who was named at all */
    int look, with_records;
    struct rhf_count last, joined;
    struct rhf_links links;
};

/* --------------------------------------------------------------------------------------------------------- groups */

struct rhf_liveness {
    int up;
    int64_t wait, heard_at, since_at, up_at;
    unsigned doublings;
};

enum rhf_went { RHF_STAYED, RHF_UP, RHF_DOWN };

struct rhf_peer {
    struct rhf_liveness liveness;
    uint32_t discriminator;
    int64_t sequence;
    uint8_t state;
    int uplink, reluctant, granting;
    uint32_t epoch;
};

struct rhf_sent {
    uint32_t sequence, epoch; /* `epoch`: as the holder of which, when it was one */
    int as_holder;
    int64_t at;
};

struct rhf_fifo {
    struct rhf_sent kept[RHF_MAX_KEPT];
    unsigned count;
};

struct rhf_member {
    int there;
    uint8_t role, uplink, uplink_card, multiplier;
    uint16_t uplink_home;
    unsigned rank, size;
    int64_t interval, jitter, slack, lease, skew, guard, wait_to_restore;
    uint16_t members[RHF_MAX_MEMBERS];
    uint32_t sequence, uplink_discriminator;
    struct rhf_peer peers[RHF_MAX_MEMBERS];
    uint32_t epoch, held_epoch;
    int holds;
    int64_t lease_until;
    int reluctant, grantor_reluctant;
    int64_t started_at, listen_until;
    struct rhf_fifo sent, claims_at;
    int64_t answered_at;
    uint32_t echo, told_holder, told_epoch;
    int64_t wanted_at;
    int asked;
    uint32_t claims, claim_epoch;
    int64_t hold_off_until, held_since;
    unsigned losses;
    int64_t announced_at;
};

/* Grants the lease of a boundary link, from its follower side. `group`: the wardens, of whom it uses what has to do
 * with peers. */
struct rhf_warden {
    struct rhf_member group;
    struct rhf_liveness leader;
    uint32_t highest, epoch; /* granted, here or, as far as is known, elsewhere; of the lease that runs, or ran last */
    int grants, reluctant;   /* a lease runs */
    int64_t quiet_until, until;
    int64_t elsewhere[RHF_MAX_MEMBERS]; /* until when leases that others gave may run, 0: none */
    uint32_t told_by[RHF_MAX_MEMBERS];  /* who had told of it last, and until when it was to run */
    int64_t told_until[RHF_MAX_MEMBERS];
    int news, fenced; /* a lease has begun or ended, by a higher epoch, and nobody has been told yet */
};

/* ------------------------------------------------------------------------------------------------------------ GPU */

struct rhf_gpu {
    int booted;
    struct rhf_boot boot;
    uint32_t status, control, exits;
    int is_boundary, has_crossing;
    struct rhf_crossing crossing;
    uint64_t behind[RHF_CARDS];
    struct rhf_member entry, boundary;
    struct rhf_warden warden;
    struct rhf_census census;
    struct rhf_out out;
    uint8_t frame[4096]; /* that is being made */
};

/* links.c */
void rhf_links_begin(struct rhf_links *links);
void rhf_links_look(struct rhf_links *links, const struct rhf_gpu *gpu, const struct rhf_arm *arm, int64_t sent_at);
void rhf_links_round_over(struct rhf_links *links, unsigned size);

/* verdict.c: 0, or why the message is rejected; who may have spoiled it, 0: nobody is named. */
int rhf_well_formed(const uint8_t *frame, size_t length);
unsigned rhf_judge(const struct rhf_gpu *gpu, const struct rhw_statistics *frame, uint8_t port);
void rhf_take(struct rhf_arm *arm, const struct rhw_statistics *frame);
int rhf_suspects(const struct rhf_gpu *gpu, const struct rhw_statistics *frame, int arrived_bad, struct rhf_set *found);

/* joined.c: 0, or why the two directions together are no count. */
unsigned rhf_join(const struct rhf_arm *cw, const struct rhf_arm *ccw, uint32_t sequence, int64_t sent_at,
                  struct rhf_count *counted);

/* census.c */
void rhf_census_begin(struct rhf_gpu *gpu, uint32_t epoch, int64_t now);
void rhf_census_timer(struct rhf_gpu *gpu, uint8_t timer, int64_t now);
void rhf_census_frame(struct rhf_gpu *gpu, const uint8_t *frame, size_t length, uint8_t port, int bad, int64_t now);
void rhf_census_count_now(struct rhf_gpu *gpu, int64_t now);

/* liveness.c */
void rhf_liveness_begin(struct rhf_liveness *liveness);
enum rhf_went rhf_liveness_heard(struct rhf_liveness *l, int64_t detection, int64_t wait_to_restore, int64_t now);
enum rhf_went rhf_liveness_check(struct rhf_liveness *l, int64_t detection, int64_t wait_to_restore, int64_t now);
int rhf_liveness_fresh(const struct rhf_liveness *l, int64_t detection, int64_t now);

/* group.c */
int64_t rhf_detection(const struct rhf_member *m);
uint32_t rhf_discriminator(const struct rhf_gpu *gpu);
int64_t rhf_next_tick(const struct rhf_gpu *gpu, const struct rhf_member *m);
uint32_t rhf_next_epoch(const struct rhf_member *m, uint32_t highest);
uint32_t rhf_hear(struct rhf_gpu *gpu, struct rhf_member *m, const struct rhw_keepalive *message, int64_t now);
void rhf_check_peers(struct rhf_gpu *gpu, struct rhf_member *m, int64_t now);
uint64_t rhf_heard_bits(const struct rhf_member *m);
struct rhf_told { /* what a keepalive says beside who sends it */
    uint8_t state;
    uint32_t epoch, echo, holder;
};
void rhf_tell(struct rhf_gpu *gpu, struct rhf_member *m, uint8_t port, uint32_t rank, struct rhf_told told);
void rhf_tell_all(struct rhf_gpu *gpu, struct rhf_member *m, struct rhf_told told);
void rhf_say_peer(struct rhf_gpu *gpu, const struct rhf_member *m, uint16_t who, enum rhf_went went);
void rhf_keep(struct rhf_fifo *fifo, struct rhf_sent sent, unsigned most);
const struct rhf_sent *rhf_kept(const struct rhf_fifo *fifo, uint32_t sequence);

/* member.c */
void rhf_member_begin(struct rhf_member *m, const struct rhf_group *group);
void rhf_member_start(struct rhf_gpu *gpu, struct rhf_member *m, int64_t now);
void rhf_member_timer(struct rhf_gpu *gpu, struct rhf_member *m, uint8_t timer, int64_t now);
void rhf_member_keepalive(struct rhf_gpu *gpu, struct rhf_member *m, const struct rhw_keepalive *message, uint8_t port,
                          int64_t now);
void rhf_member_election(struct rhf_gpu *gpu, struct rhf_member *m, const struct rhw_election *message, uint8_t port,
                         int64_t now);
void rhf_member_reluctant(struct rhf_gpu *gpu, struct rhf_member *m, int reluctant, int64_t now);

/* warden.c */
void rhf_warden_begin(struct rhf_warden *w, const struct rhf_group *group, uint32_t remembered);
void rhf_warden_start(struct rhf_gpu *gpu, struct rhf_warden *w, int64_t now);
void rhf_warden_timer(struct rhf_gpu *gpu, struct rhf_warden *w, uint8_t timer, int64_t now);
void rhf_warden_keepalive(struct rhf_gpu *gpu, struct rhf_warden *w, const struct rhw_keepalive *message, uint8_t port,
                          int64_t now);
void rhf_warden_election(struct rhf_gpu *gpu, struct rhf_warden *w, const struct rhw_election *message, uint8_t port,
                         int64_t now);
void rhf_warden_reluctant(struct rhf_gpu *gpu, struct rhf_warden *w, int reluctant, int64_t now);

/* gpu.c */
void rhf_gpu_start(struct rhf_gpu *gpu, int64_t now);
void rhf_gpu_timer(struct rhf_gpu *gpu, uint8_t timer, uint32_t status, int64_t now);
void rhf_gpu_frame(struct rhf_gpu *gpu, const uint8_t *frame, size_t length, uint8_t port, int bad, int64_t now);
void rhf_elected(struct rhf_gpu *gpu, uint8_t role, uint32_t epoch, int64_t now);
void rhf_deposed(struct rhf_gpu *gpu, uint8_t role, uint32_t epoch, uint8_t why, int64_t now);
void rhf_set_boundary(struct rhf_gpu *gpu, int on);
void rhf_found_exits(struct rhf_gpu *gpu, const struct rhf_count *counted);

#endif
