/* Sets of GPUs of one ring. */
#include "rhf_state.h"

int rhf_has(const struct rhf_set *set, unsigned gpu) {
    return gpu < RHF_MAX_GPUS && (set->words[gpu / 64] >> gpu % 64 & 1);
}

void rhf_add(struct rhf_set *set, unsigned gpu) {
    if (gpu < RHF_MAX_GPUS) /* a damaged message may name any */
        set->words[gpu / 64] |= (uint64_t)1 << gpu % 64;
}

unsigned rhf_size_of(const struct rhf_set *set) {
    unsigned size = 0;
    for (unsigned gpu = 0; gpu < RHF_MAX_GPUS; ++gpu)
        size += (unsigned)rhf_has(set, gpu);
    return size;
}
