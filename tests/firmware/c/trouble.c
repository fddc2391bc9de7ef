/*
 * A firmware (WHOLE_size, WHOLE_answer) that comes to an end in a given way: at one call in so many, by the scenario's
 * seed and the GPU, or by what a test says with the environment: TROUBLE is "HOW AT", the call that counts from
 * a boot on; "any ONE_IN" is any way, at random.
 */
#include "ringhil_firmware_messages.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

size_t whole_size(void);
size_t whole_answer(void *state, const uint8_t *request, size_t length, uint8_t *answer, size_t room);

struct gpu {
    uint64_t dice;
    uint64_t calls;
    uint64_t whole[];
};

static volatile int nothing;

__attribute__((noinline)) static int deeper(volatile int *from) {
    volatile int room[256];
    room[0] = *from;
    return deeper(room) + room[0];
}

static const char fixed[] = "what must not be written to";

static void *writes(void *given) {
    *(volatile char *)fixed = 0; /* THREADS */
    return given;
}

static void ends(const char *how) {
    pthread_t other;
    if (!strcmp(how, "read"))
        nothing = *(volatile int *)(nothing + 8); /* READS */
    if (!strcmp(how, "divide"))
        nothing = 100 / nothing; /* DIVIDES */
    if (!strcmp(how, "abort"))
        abort(); /* ABORTS */
    if (!strcmp(how, "library"))
        memset((void *)(size_t)(nothing + 8), 1, (size_t)(nothing + 100)); /* LIBRARIES */
    if (!strcmp(how, "jump"))
        ((void (*)(void))(size_t)nothing)(); /* JUMPS */
    if (!strcmp(how, "deep"))
        nothing = deeper(&nothing);
    if (!strcmp(how, "thread") && !pthread_create(&other, NULL, writes, NULL))
        pthread_join(other, NULL);
    if (!strcmp(how, "exit"))
        exit(3);
    if (!strcmp(how, "loop"))
        for (;;)
            nothing = 0; /* LOOPS */
    if (!strcmp(how, "wait"))
        for (;;)
            pause();
    if (!strcmp(how, "nap")) {
        struct timespec rest = {0, 800 * 1000 * 1000};
        while (nanosleep(&rest, &rest))
            ;
    }
    if (!strcmp(how, "print"))
        printf("it says something\n");
}

size_t rhf_size(void) { return sizeof(struct gpu) + whole_size(); }

size_t rhf_answer(void *state, const uint8_t *request, size_t length, uint8_t *answer, size_t room) {
    static const char *const ways[] = {"read", "divide", "abort", "library", "jump", "deep", "exit", "loop"};
    struct gpu *gpu = state;
    struct rhf_boot boot;
    char how[16] = "";
    long at = 0;
    const char *given = getenv("TROUBLE");
    if (given)
        sscanf(given, "%15s %ld", how, &at);
    if (rhf_unpack_boot(&boot, request, length))
        gpu->dice = (uint64_t)boot.seed << 16 | (uint64_t)boot.gpu << 8 | (boot.boots & 0xFF);
    gpu->dice = gpu->dice * 6364136223846793005u + 1442695040888963407u;
    gpu->calls++;
    if (gpu->calls > 1 && !strcmp(how, "any")) {
        if (at && (gpu->dice >> 33) % (uint64_t)at == 0)
            ends(ways[(gpu->dice >> 36) % (sizeof ways / sizeof *ways)]);
    } else if (gpu->calls == (uint64_t)at)
        ends(how);
    return whole_answer(gpu->whole, request, length, answer, room);
}
