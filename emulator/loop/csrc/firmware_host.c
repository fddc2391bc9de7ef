/*
 * Runs a GPU's firmware, a library with the functions of ringhil_firmware.h, in a process of its own.
 *
 *     firmware_host LIBRARY MOST_STATE ROOM SOCKET [gdb]
 *
 * SOCKET is a descriptor; gdb: any debugger may attach. Numbers are little-endian. What comes is 4 bytes of length and a request; or, with a
 * descriptor, 4 bytes that don't count: then this process forks, and the new one serves that descriptor, with all that
 * is in memory. Where the most significant byte of the length is 1, it is a look at the memory: 1 byte, 0 the state, 1 the
 * library; 8 bytes offset, 4 bytes number. What goes is a letter, 4 bytes of length, and
 *
 *     H  8 bytes, the size of a state, 4 bytes process id: a process is ready
 *     A  an answer
 *     M  what is in the memory there; nothing: it can't be read
 *     N  8 bytes: what was returned instead of an answer's length
 *     T  a text: why the library can't be used
 *     C  it was struck: 4 bytes signal, 1 byte step (LOAD, SIZE, ANSWER), 8 bytes for each place in the library
 *        from inside out, as an offset from where it is loaded
 *     X  4 bytes exit code, 1 byte step: it has called exit()
 *
 * A process ends when the other end of its descriptor is closed, also in the middle of a call; the first one when those
 * that were forked have ended, too. When that end only says
 * that it sends no more, in the middle of a call, it tells where it stands (C, SIGUSR1) and ends.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum step { LOAD, SIZE, ANSWER };

#define HEAD 4u
#define LOOK 13u
#define PLACES 16
#define FRAMES 64
#define FULL 0x80       /* beside the step: the stack was full */
#define AHEAD (1u << 16) /* bytes below its end at which a function may begin to use it */

static int line, debugged;
static int first = 1; /* the process from which all others are forked: it stays until they have gone */
static volatile sig_atomic_t step = LOAD, struck_before;
static pthread_t worker;
static uintptr_t base, from, to; /* of the library */
static uintptr_t bottom;         /* of the main thread's stack, which grows downwards from there */
static rlim_t deepest;           /* bytes that it may have */
static uint8_t report[5 + 5 + 8 * PLACES];
static size_t places;

static void put(uint8_t *at, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static int said(const uint8_t *data, size_t length) {
    while (length) {
        ssize_t done = send(line, data, length, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return 0;
        data += done;
        length -= (size_t)done;
    }
    return 1;
}

static void head(uint8_t *at, char kind, size_t length) {
    at[0] = (uint8_t)kind;
    put(at + 1, length, 4);
}

static int say(char kind, const void *data, size_t length) {
    uint8_t first[5];
    head(first, kind, length);
    return said(first, sizeof first) && said(data, length);
}

/* ------------------------------------------------------------------------------------------ what goes wrong in it */

static void place(uintptr_t at) {
    if (places < PLACES && at >= from && at < to)
        put(report + 10 + 8 * places++, at - base, 8);
}

static void tell_and_end(void) {
    head(report, 'C', 5 + 8 * places);
    said(report, 10 + 8 * places);
    _exit(1);
}

static void struck(int signal_, siginfo_t *info, void *given) {
    const ucontext_t *context = given;
    uintptr_t at = 0, stack = 0, end = 0, missed = (uintptr_t)info->si_addr;
    void *frames[FRAMES];
    if (struck_before++) /* while looking where it was: what is known is told */
        tell_and_end();
#if defined(__x86_64__)
    at = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
    end = stack = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    at = (uintptr_t)context->uc_mcontext.pc;
    stack = (uintptr_t)context->uc_mcontext.regs[30];
    end = (uintptr_t)context->uc_mcontext.sp;
#endif
    put(report + 5, (uint64_t)signal_, 4);
    report[9] = (uint8_t)step;
    /* That stack grows by itself up to its limit: no place in it is missed before. */
    if (signal_ == SIGSEGV && missed < bottom && missed + AHEAD >= end && bottom - missed <= deepest + AHEAD)
        report[9] |= FULL;
    place(at);
    int found = backtrace(frames, FRAMES);
    for (int i = 0; i < found; i++)
        if ((uintptr_t)frames[i] != at)
            place((uintptr_t)frames[i] - 1); /* of the call, not of what follows it */
    if (!places) { /* a call of what is no function: nothing unwinds that but its return address */
#if defined(__x86_64__)
        place(*(const uintptr_t *)stack - 1);
#else
        place(stack - 1);
#endif
    }
    tell_and_end();
}

static void ended(int code, void *nothing) {
    uint8_t said_[5];
    (void)nothing;
    put(said_, (uint64_t)(uint32_t)code, 4);
    said_[4] = (uint8_t)step;
    say('X', said_, sizeof said_);
}

/* Ends the process when nobody is at the other end, whatever the firmware is doing. */
static void *watch(void *nothing) {
    struct pollfd there = {line, POLLRDHUP, 0};
    (void)nothing;
    while (poll(&there, 1, -1) < 0)
        ;
    if (first && step == ANSWER)
        return NULL;
    if (there.revents & POLLHUP)
        _exit(0);
    pthread_kill(worker, SIGUSR1);
    sleep(1);
    _exit(1);
    return NULL;
}

static void watched(void) {
    pthread_t thread;
    pthread_attr_t small;
    sigset_t all, before;
    worker = pthread_self();
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 16);
    if (pthread_create(&thread, &small, watch, NULL))
        _exit(1);
    pthread_attr_destroy(&small);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void prepare(void) {
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGUSR1};
    static const int others[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGCHLD};
    static uint8_t stack[1 << 17]; /* the firmware's own may have run out */
    struct rlimit none = {0, 0}, own;
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    void *frame;
    bottom = (uintptr_t)&frame;
    deepest = getrlimit(RLIMIT_STACK, &own) == 0 && own.rlim_cur != RLIM_INFINITY ? own.rlim_cur : 0;
    setrlimit(RLIMIT_CORE, &none);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        signal(others[i], SIG_IGN); /* who has started it decides when it ends */
    sigaltstack(&other, NULL);
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
        struct sigaction action = {.sa_sigaction = struck, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
        sigaction(deadly[i], &action, NULL);
    }
    backtrace(&frame, 1); /* loads what it needs */
    on_exit(ended, NULL);
    setvbuf(stdout, NULL, _IOLBF, 0);
}

/* -------------------------------------------------------------------------------------------------------- serving */

typedef size_t (*answer_of)(void *, const uint8_t *, size_t, uint8_t *, size_t);

static void ready(size_t size) {
    uint8_t said_[12];
    put(said_, size, 8);
    put(said_ + 8, (uint64_t)getpid(), 4);
    say('H', said_, sizeof said_);
}

static void become(int other, size_t size) {
    fflush(NULL);
    if (fork() == 0) {
        close(line);
        line = other;
        first = 0;
        if (debugged)
            prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* a process of the same user: it is no child of the debugger's */
        watched();
        ready(size);
    } else
        close(other);
}

/* Bytes that came, and a descriptor that came along or -1. */
static ssize_t came(uint8_t *into, size_t most, int *other) {
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } along;
    struct iovec part = {into, most};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = along.room, .msg_controllen = sizeof along.room};
    ssize_t got;
    while ((got = recvmsg(line, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
        ;
    struct cmsghdr *with = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    *other = -1;
    if (with && with->cmsg_type == SCM_RIGHTS)
        memcpy(other, CMSG_DATA(with), sizeof *other);
    return got;
}

static uint64_t get(const uint8_t *at, size_t bytes) {
    uint64_t value = 0;
    while (bytes--)
        value = value << 8 | at[bytes];
    return value;
}

/* By a system call: what isn't there is an error of that, and no crash. */
static void look(const uint8_t *asked, uint8_t *state, size_t size, uint8_t *reply, size_t room) {
    uint64_t offset = get(asked + 1, 8), number = get(asked + 9, 4);
    uint64_t most = asked[0] ? to - base : size;
    ssize_t got = 0;
    if (number <= room && offset <= most && number <= most - offset) {
        void *at = asked[0] ? (void *)(base + offset) : state + offset;
        struct iovec there = {at, number}, into = {reply + 5, number};
        got = process_vm_readv(getpid(), &into, 1, &there, 1, 0);
    }
    size_t length = got == (ssize_t)number ? number : 0;
    head(reply, 'M', length);
    said(reply, 5 + length);
}

static void serve(answer_of answer, size_t size, size_t room) {
    uint8_t *request = malloc(HEAD + room), *reply = malloc(5 + room);
    void *state = calloc(1, size);
    if (!request || !reply || !state)
        _exit(1);
    for (;;) {
        size_t have = 0, length = 0;
        int other;
        do {
            ssize_t got = came(request + have, HEAD + room - have, &other);
            if (got <= 0) {
                while (first && (wait(NULL) > 0 || errno == EINTR))
                    ;
                _exit(0);
            }
            if (other >= 0) {
                become(other, size);
                continue;
            }
            have += (size_t)got;
            if (have >= HEAD)
                length = request[0] | (size_t)request[1] << 8 | (size_t)request[2] << 16;
            if (length > room)
                _exit(1);
        } while (have < HEAD || have < HEAD + length);
        if (request[3] == 1 && length == LOOK) {
            look(request + HEAD, state, size, reply, room);
            continue;
        }
        length = answer(state, request + HEAD, length, reply + 5, room);
        if (!length || length > room) {
            uint8_t wrong[8];
            put(wrong, length, sizeof wrong);
            say('N', wrong, sizeof wrong);
            continue;
        }
        head(reply, 'A', length);
        said(reply, 5 + length);
    }
}

static int loaded_here(struct dl_phdr_info *info, size_t size, void *wanted) {
    (void)size;
    if (info->dlpi_addr != ((const struct link_map *)wanted)->l_addr)
        return 0;
    base = from = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t end = base + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && end > to)
            to = end;
    }
    return 1;
}

static void unusable(const char *why) {
    say('T', why, strlen(why));
    _exit(0);
}

int main(int count, char **words) {
    if (count != 5 && count != 6)
        return 2;
    unsigned long long most = strtoull(words[2], NULL, 10), room = strtoull(words[3], NULL, 10);
    line = atoi(words[4]);
    debugged = count == 6;
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* of forks of forks, too: none stays a zombie where nobody waits for orphans */
    dup2(2, 1); /* what it prints is nobody's document */
    prepare();
    watched();
    void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL), *map = NULL;
    if (!library)
        unusable(dlerror());
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
        dl_iterate_phdr(loaded_here, map);
    size_t (*size_of)(void);
    answer_of answer;
    *(void **)&size_of = dlsym(library, "rhf_size");
    *(void **)&answer = dlsym(library, "rhf_answer");
    if (!size_of || !answer)
        unusable(size_of ? "has no rhf_answer" : "has no rhf_size");
    step = SIZE;
    size_t size = size_of();
    step = ANSWER;
    ready(size);
    if (!size || size > most)
        return 0;
    serve(answer, size, (size_t)room);
}
