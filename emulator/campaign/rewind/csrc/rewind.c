// Puts this process's memory back to how it was: what a fork gives for each try, without a new process for each.
//
//     rewind_ready()   0: this system can do it; below 0: -errno
//     rewind_mark()    0: memory is marked; 1: back here again, memory is as it was then; below 0: -errno, can't be done
//     rewind_back()    never returns; rewind_mark returns once more. Without a mark it ends the process
//     rewind_copied()  pages that the last way back has copied
//
// All that is private to the process and writable is put back, with the registers: the heap, stacks, data of libraries.
// What the kernel holds stays as it is: descriptors, and what went through them, shared memory, children. There must be
// one thread.
//
// A mark copies every page once and write-protects it; the kernel (userfaultfd in its asynchronous mode, Linux 6.7) notes
// which pages are written to. Those are copied back, and stay unprotected: nearly the same ones are written to each
// time, and a fault costs more than ten copies. What was mapped since is unmapped; what was unmapped is mapped again.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))
#define PAGE 4096ull
#define MOST_SEGMENTS 8192
#define MOST_REGIONS 4096
#define MOST_TEXT (2u << 20)     // bytes of /proc/self/maps
#define MOST_SHADOW (64ull << 30)  // bytes of address space; what is used of it is what the process has
#define STACK (256u << 10)

// Headers of older systems don't have these.
#define WP_UNPOPULATED (1ull << 13)
#define WP_ASYNC (1ull << 15)
#define IS_WRITTEN 2ull
#define IS_PRESENT 8ull
#define IS_SWAPPED 16ull

struct region {
    uint64_t start, end, categories;
};

struct scan {
    uint64_t size, flags, start, end, walk_end, regions, regions_length, most_pages;
    uint64_t inverted, mask, any_of, wanted;
};
#define PAGEMAP_SCAN _IOWR('f', 16, struct scan)

// `shadow`: where its copy lies; 0: it isn't written to, and only known to be there.
struct segment {
    uint64_t start, end, shadow;
};

struct table {
    struct segment segments[MOST_SEGMENTS];
    int number;
};

// In shared memory, which is not put back.
struct control {
    struct table tables[2];  // the mark's, and the one that is being made
    struct table there;      // what is mapped now
    struct region regions[MOST_REGIONS];
    char text[MOST_TEXT];
    char stack[STACK] __attribute__((aligned(64)));
    ucontext_t mark, restoring;
    int current, maps, pagemap, watch, marked, again;
    uint64_t shadow, shadow_used, break_at, copied;
};

static struct control *control;

static uint64_t hex(const char **at) {
    uint64_t value = 0;
    for (;; (*at)++) {
        char c = **at;
        if (c >= '0' && c <= '9') value = value << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f') value = value << 4 | (uint64_t)(c - 'a' + 10);
        else return value;
    }
}

enum { FIXED, ANONYMOUS, OF_FILE };

// What is mapped; `shadow` is its kind: what is private and may be written to is anonymous, or of a file.
static int look(struct table *found) {
    size_t length = 0;
    if (lseek(control->maps, 0, SEEK_SET) < 0) return -errno;
    for (;;) {
        ssize_t got = read(control->maps, control->text + length, MOST_TEXT - 1 - length);
        if (got < 0) return -errno;
        if (got == 0) break;
        length += (size_t)got;
        if (length >= MOST_TEXT - 1) return -E2BIG;
    }
    control->text[length] = 0;
    found->number = 0;
    for (const char *at = control->text; *at; at++) {
        if (found->number == MOST_SEGMENTS) return -E2BIG;
        struct segment *next = &found->segments[found->number++];
        next->start = hex(&at);
        at++;
        next->end = hex(&at);
        at++;
        int ours = next->start >= control->shadow && next->start < control->shadow + MOST_SHADOW;
        int writable = at[0] == 'r' && at[1] == 'w' && at[3] == 'p' && !ours;
        for (int spaces = 0; spaces < 3; at++) spaces += *at == ' ';
        next->shadow = !writable ? FIXED : at[0] == '0' ? ANONYMOUS : OF_FILE;  // the number of its inode
        while (*at != '\n') at++;
    }
    return 0;
}

// The first pages from `start` on that are as they were when they were protected; below 0: -errno.
static int clean(uint64_t start, uint64_t end, uint64_t *walked) {
    struct scan scan = {
        .size = sizeof scan, .start = start, .end = end, .regions = (uint64_t)control->regions,
        .regions_length = MOST_REGIONS, .inverted = IS_WRITTEN, .mask = IS_WRITTEN, .any_of = IS_PRESENT | IS_SWAPPED,
        .wanted = IS_PRESENT,
    };
    int found = ioctl(control->pagemap, PAGEMAP_SCAN, &scan);
    *walked = scan.walk_end;
    return found < 0 ? -errno : found;
}

// Copies what has been written to, forth or back.
static int copy(const struct segment *segment, int back) {
    uint64_t at = segment->start, walked;
    while (at < segment->end) {
        int found = clean(at, segment->end, &walked);
        if (found < 0) return found;
        for (int n = 0; n <= found; n++) {
            uint64_t until = n < found ? control->regions[n].start : walked;
            if (until > at) {
                char *there = (char *)at, *kept = (char *)(segment->shadow + (at - segment->start));
                memcpy(back ? there : kept, back ? kept : there, until - at);
                control->copied += (until - at) / PAGE;
            }
            if (n < found) at = control->regions[n].end;
        }
        if (at < walked) at = walked;
    }
    return 0;
}

// A new segment: protects it, and copies the pages that there are; of a file, all. What isn't there reads as zeros in the
// copy as well.
static int keep(struct segment *segment, uint64_t kind) {
    uint64_t size = segment->end - segment->start, walked;
    if (control->shadow_used + size > MOST_SHADOW) return -ENOMEM;
    segment->shadow = control->shadow + control->shadow_used;
    control->shadow_used += size;
    struct uffdio_register watched = {{segment->start, size}, UFFDIO_REGISTER_MODE_WP, 0};
    if (ioctl(control->watch, UFFDIO_REGISTER, &watched)) return -errno;
    struct uffdio_writeprotect protected = {{segment->start, size}, UFFDIO_WRITEPROTECT_MODE_WP};
    if (ioctl(control->watch, UFFDIO_WRITEPROTECT, &protected)) return -errno;
    if (kind == OF_FILE) memcpy((char *)segment->shadow, (char *)segment->start, size);
    for (uint64_t at = segment->start; kind == ANONYMOUS && at < segment->end; at = walked) {
        int found = clean(at, segment->end, &walked);
        if (found < 0) return found;
        for (int n = 0; n < found; n++) {
            struct region *region = &control->regions[n];
            if (region->categories & IS_PRESENT)
                memcpy((char *)(segment->shadow + (region->start - segment->start)), (char *)region->start,
                       region->end - region->start);
        }
    }
    return copy(segment, 0);  // what was written to meanwhile, such as this stack
}

static int prepare(void) {
    control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (control == MAP_FAILED) return control = NULL, -errno;
    void *shadow = mmap(NULL, MOST_SHADOW, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (shadow == MAP_FAILED) return -errno;
    control->shadow = (uint64_t)shadow;
    madvise(shadow, MOST_SHADOW, MADV_HUGEPAGE);
    control->maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    control->pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (control->maps < 0 || control->pagemap < 0) return -errno;
    control->watch = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
    if (control->watch < 0) return -errno;
    struct uffdio_api api = {.api = UFFD_API, .features = WP_UNPOPULATED | WP_ASYNC};
    return ioctl(control->watch, UFFDIO_API, &api) ? -errno : 0;
}

static int note(struct table *table, struct segment segment) {
    if (table->number == MOST_SEGMENTS) return -E2BIG;
    table->segments[table->number++] = segment;
    return 0;
}

// The table of what is mapped now: what stood in the old one keeps its copy, which is brought up to date.
static int take_down(void) {
    struct table *old = &control->tables[control->current], *new = &control->tables[!control->current];
    int failed = look(&control->there);
    new->number = 0;
    for (int n = 0, o = 0; !failed && n < control->there.number; n++) {
        struct segment mapped = control->there.segments[n];
        if (mapped.shadow == FIXED) {
            failed = note(new, mapped);
            continue;
        }
        for (uint64_t at = mapped.start; !failed && at < mapped.end;) {
            while (o < old->number && old->segments[o].end <= at) o++;
            const struct segment *known = o < old->number && old->segments[o].start < mapped.end ? &old->segments[o] : NULL;
            struct segment part = {at, mapped.end, 0};
            if (known && known->start > at) part.end = known->start;
            else if (known && known->end < part.end) part.end = known->end;
            if (known && known->start <= at && known->shadow) {
                part.shadow = known->shadow + (at - known->start);
                failed = copy(&part, 0);
            } else {
                failed = keep(&part, mapped.shadow);
            }
            if (!failed) failed = note(new, part);
            at = part.end;
        }
    }
    control->current = !control->current;
    return failed;
}

PUBLIC int rewind_ready(void) {
    return control ? 0 : prepare();
}

PUBLIC int rewind_mark(void) {
    int failed = rewind_ready();
    if (!failed) failed = take_down();
    if (failed) {
        if (control) control->marked = 0;
        return failed;
    }
    control->break_at = (uint64_t)syscall(SYS_brk, 0);
    control->marked = 1;
    control->again = 0;
    getcontext(&control->mark);
    return control->again;
}

// What is mapped and was not is unmapped; what is not and was is mapped.
static int map_as_before(void) {
    const struct table *was = &control->tables[control->current];
    const struct table *is = &control->there;
    uint64_t at = 0;
    for (int w = 0, i = 0; w < was->number || i < is->number;) {
        uint64_t was_from = w < was->number ? was->segments[w].start : UINT64_MAX;
        uint64_t is_from = i < is->number ? is->segments[i].start : UINT64_MAX;
        if (was_from < at) was_from = at;
        if (is_from < at) is_from = at;
        uint64_t was_to = w < was->number ? was->segments[w].end : UINT64_MAX;
        uint64_t is_to = i < is->number ? is->segments[i].end : UINT64_MAX;
        if (was_from == is_from) {
            at = was_to < is_to ? was_to : is_to;
        } else if (is_from < was_from) {
            at = is_to < was_from ? is_to : was_from;
            // A stack has grown down to what was its end.
            int grown = at == was_from && is_to > at;
            if (!grown && munmap((void *)is_from, at - is_from)) return -errno;
        } else {
            at = was_to < is_from ? was_to : is_from;
            if (!was->segments[w].shadow) return -EFAULT;
            if (mmap((void *)was_from, at - was_from, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
                return -errno;
        }
        while (w < was->number && was->segments[w].end <= at) w++;
        while (i < is->number && is->segments[i].end <= at) i++;
    }
    return 0;
}

static void restore(void) {
    if ((uint64_t)syscall(SYS_brk, 0) != control->break_at) syscall(SYS_brk, control->break_at);
    int failed = look(&control->there);
    if (!failed) failed = map_as_before();
    const struct table *was = &control->tables[control->current];
    control->copied = 0;
    for (int n = 0; !failed && n < was->number; n++)
        if (was->segments[n].shadow) failed = copy(&was->segments[n], 1);
    if (failed) _exit(98);
    control->again = 1;
    setcontext(&control->mark);
    _exit(98);
}

PUBLIC void rewind_back(void) {
    if (!control || !control->marked) _exit(98);
    getcontext(&control->restoring);
    control->restoring.uc_stack.ss_sp = control->stack;
    control->restoring.uc_stack.ss_size = STACK;
    control->restoring.uc_link = NULL;
    makecontext(&control->restoring, restore, 0);
    setcontext(&control->restoring);
    _exit(98);
}

PUBLIC uint64_t rewind_copied(void) {
    return control ? control->copied : 0;
}
