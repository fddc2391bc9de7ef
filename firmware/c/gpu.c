/* All of a GPU's firmware: hands frames and timers to the parts, puts into registers what they decide. */
#include "rhf_state.h"
#include "ringhil_seal.h"

static void set_control(struct rhf_gpu *gpu, uint32_t bit, int on) {
    uint32_t before = gpu->control;
    gpu->control = on ? before | bit : before & ~bit;
    if (gpu->control != before)
        rhf_say_write(&gpu->out, RH_REGISTER_CONTROL, gpu->control);
}

static void tell_census(struct rhf_gpu *gpu) {
    gpu->census.peer = gpu->is_boundary && gpu->has_crossing ? gpu->crossing.peer : RHW_NO_CARD;
}

void rhf_set_boundary(struct rhf_gpu *gpu, int on) {
    gpu->is_boundary = on;
    tell_census(gpu);
    set_control(gpu, RHW_CONTROL_BOUNDARY, on);
    set_control(gpu, RHW_CONTROL_FROM_ABOVE, on && gpu->crossing.from_above);
    rhf_say_write(&gpu->out, RH_REGISTER_CROSSINGS, on ? gpu->crossing.cards : 0);
}

/* The entry GPU is a boundary GPU only if no other GPU can be. */
static void set_reluctant(struct rhf_gpu *gpu, int reluctant, int64_t now) {
    if (gpu->boundary.there)
        rhf_member_reluctant(gpu, &gpu->boundary, reluctant, now);
    if (gpu->warden.group.there)
        rhf_warden_reluctant(gpu, &gpu->warden, reluctant, now);
}

void rhf_elected(struct rhf_gpu *gpu, uint8_t role, uint32_t epoch, int64_t now) {
    size_t room;
    struct rhf_elected said = {role, epoch};
    uint8_t *at = rhf_say_begin(&gpu->out, &room);
    rhf_say_end(&gpu->out, rhf_pack_elected(&said, at, room));
    if (role == RHW_ROLE_BOUNDARY) {
        rhf_set_boundary(gpu, 1);
        return;
    }
    tell_census(gpu);
    set_control(gpu, RHW_CONTROL_ENTRY, 1);
    set_control(gpu, RHW_CONTROL_MONITOR, 1);
    set_reluctant(gpu, 1, now);
    rhf_census_begin(gpu, epoch, now);
}

void rhf_deposed(struct rhf_gpu *gpu, uint8_t role, uint32_t epoch, uint8_t why, int64_t now) {
    size_t room;
    struct rhf_deposed said = {role, epoch, why};
    uint8_t *at = rhf_say_begin(&gpu->out, &room);
    rhf_say_end(&gpu->out, rhf_pack_deposed(&said, at, room));
    if (role == RHW_ROLE_BOUNDARY) {
        rhf_set_boundary(gpu, 0);
        return;
    }
    gpu->census.running = gpu->census.under_way = 0;
    gpu->exits = 0;
    rhf_say_cancel(&gpu->out, RHF_PERIOD);
    rhf_say_cancel(&gpu->out, RHF_TIMEOUT);
    rhf_say_write(&gpu->out, RH_REGISTER_EXITS, 0);
    set_control(gpu, RHW_CONTROL_ENTRY, 0);
    set_control(gpu, RHW_CONTROL_MONITOR, 0);
    set_reluctant(gpu, 0, now);
}

/* Frames for other cards may enter when the records show a boundary GPU that leads there. */
void rhf_found_exits(struct rhf_gpu *gpu, const struct rhf_count *counted) {
    uint32_t exits = 0;
    if (!counted->known)
        return;
    for (unsigned i = 0; i < gpu->boot.gpus; ++i)
        if (rhf_has(&counted->boundaries, i) && counted->peers[i] < RHF_CARDS)
            exits |= (uint32_t)gpu->behind[counted->peers[i]];
    if (exits != gpu->exits) {
        gpu->exits = exits;
        rhf_say_write(&gpu->out, RH_REGISTER_EXITS, exits);
    }
}

void rhf_gpu_start(struct rhf_gpu *gpu, int64_t now) {
    gpu->control = gpu->entry.there ? RHW_CONTROL_ENTRY_CAPABLE : 0;
    rhf_say_write(&gpu->out, RH_REGISTER_CONTROL, gpu->control);
    rhf_say_write(&gpu->out, RH_REGISTER_CROSSINGS, 0);
    rhf_say_write(&gpu->out, RH_REGISTER_EXITS, 0);
    if (gpu->entry.there)
        rhf_member_start(gpu, &gpu->entry, now);
    if (gpu->boundary.there)
        rhf_member_start(gpu, &gpu->boundary, now);
    if (gpu->warden.group.there)
        rhf_warden_start(gpu, &gpu->warden, now);
}

void rhf_gpu_timer(struct rhf_gpu *gpu, uint8_t timer, uint32_t status, int64_t now) {
    gpu->status = status;
    gpu->census.degraded = (status & RHW_STATUS_DEGRADED) != 0;
    if (timer <= RHF_WAKE && gpu->entry.there)
        rhf_member_timer(gpu, &gpu->entry, timer, now);
    else if (timer >= RHF_TICK + 2 && timer <= RHF_WAKE + 2 && gpu->boundary.there)
        rhf_member_timer(gpu, &gpu->boundary, (uint8_t)(timer - 2), now);
    else if (timer >= RHF_TICK + 2 && timer <= RHF_WAKE + 2 && gpu->warden.group.there)
        rhf_warden_timer(gpu, &gpu->warden, (uint8_t)(timer - 2), now);
    else if ((timer == RHF_PERIOD || timer == RHF_TIMEOUT) && gpu->census.running)
        rhf_census_timer(gpu, timer, now);
}

static struct rhf_member *group_of(struct rhf_gpu *gpu, uint8_t role) {
    struct rhf_member *m = role == RHW_ROLE_ENTRY ? &gpu->entry : role == RHW_ROLE_BOUNDARY ? &gpu->boundary : NULL;
    return m && m->there ? m : NULL;
}

void rhf_gpu_frame(struct rhf_gpu *gpu, const uint8_t *frame, size_t length, uint8_t port, int bad, int64_t now) {
    struct rhw_keepalive keepalive;
    struct rhw_election election;
    struct rhf_member *m;
    int grants = gpu->warden.group.there;
    uint8_t kind = length ? frame[0] : 0;
    if (kind != RHW_KIND_KEEPALIVE && kind != RHW_KIND_ELECTION) {
        if (gpu->census.running && (port == RHW_PORT_CW || port == RHW_PORT_CCW))
            rhf_census_frame(gpu, frame, length, port, bad, now);
        return;
    }
    if (bad || !rhf_well_formed(frame, length) || !rhw_intact(frame, length))
        return;
    if (rhw_unpack_keepalive(&keepalive, frame, length - RHW_TRAILER)) {
        if ((m = group_of(gpu, keepalive.role)) != NULL)
            rhf_member_keepalive(gpu, m, &keepalive, port, now);
        else if (grants && keepalive.role == RHW_ROLE_BOUNDARY)
            rhf_warden_keepalive(gpu, &gpu->warden, &keepalive, port, now);
    } else if (rhw_unpack_election(&election, frame, length - RHW_TRAILER)) {
        if ((m = group_of(gpu, election.role)) != NULL)
            rhf_member_election(gpu, m, &election, port, now);
        else if (grants && election.role == RHW_ROLE_BOUNDARY)
            rhf_warden_election(gpu, &gpu->warden, &election, port, now);
    }
}
