/* A guest that borrows a GPU, computes with it, and gives it back. It boots in a fraction of a second, and is a pattern for
 * a driver. What it does is on the debug console, a line each; QEMU's exit code is 1 when all was right. */
#include <string.h>

#include "card.h"
#include "machine.h"
#include "relay.h"
#include "ringhil_agent.h"

#define MULTIBOOT 0x1BADB002u

enum { PAGES = 4, KEY = 0x5EC12E7, CYCLES = 5000, CONTEXT = 3, MOST_SETTINGS = 1024, DATA_AT = 65536 };

__attribute__((section(".multiboot"), used)) static const uint32_t header[3] = {MULTIBOOT, 0, -MULTIBOOT};

__asm__(".globl _start\n"
        "_start:\n"
        "  mov $stack_end, %esp\n"
        "  push %ebx\n"
        "  call begin\n"
        ".bss\n.balign 16\n.skip 65536\nstack_end:\n.text\n");

static char settings[MOST_SETTINGS];
static ra_agent agent;
static ra_loan loan, fetched;
static card gpu;

/* What stands behind `name=` at the beginning of a line of the settings, ended by 0; "" where it doesn't. */
static const char *setting(const char *name)
{
    char *at = settings;
    size_t size = strlen(name);

    while (*at) {
        if (strlen(at) > size && !memcmp(at, name, size) && at[size] == '=')
            return at + size + 1;
        at += strlen(at) + 1;
    }
    return "";
}

/* Of QEMU's option -initrd. */
static void read_settings(const uint32_t *multiboot)
{
    const uint32_t *module;
    const char *from;
    size_t size, i;

    if (!(multiboot[0] & 8) || !multiboot[5])
        return;
    module = (const uint32_t *)multiboot[6];
    from = (const char *)module[0];
    size = module[1] - module[0];
    if (size > MOST_SETTINGS - 2)
        size = MOST_SETTINGS - 2;
    for (i = 0; i < size; i++)
        settings[i] = from[i] == '\n' ? 0 : from[i];
}

static uint32_t number(const char *text)
{
    uint32_t value = 0;

    for (; *text >= '0' && *text <= '9'; text++)
        value = 10 * value + (uint32_t)(*text - '0');
    return value;
}

static void must(int right, const char *what)
{
    if (right)
        return;
    print("failed ");
    print(what);
    print("\n");
    end(1);
}

static void say(const char *what, const char *text)
{
    print(what);
    print(" ");
    print(text);
    print("\n");
}

static void say_result(const char *what, const struct rhw_result *result)
{
    print(what);
    print(" ");
    print_hex(result->status, 4);
    print(" ");
    print_hex(result->digest, 16);
    print(" ");
    print_hex(result->cycles, 8);
    print("\n");
}

static void compute(void)
{
    static uint8_t data[3000];
    struct rhw_result result;
    uint32_t size = number(setting("bytes")), random = number(setting("seed")), i;

    if (!size || size > sizeof data)
        size = sizeof data;
    for (i = 0; i < size; i++) {
        random = random * 1664525u + 1013904223u;
        data[i] = (uint8_t)(random >> 24);
    }
    must(card_digest(&gpu, data, size, &result), "digest");
    say_result("digest", &result);
    must(card_command(&gpu, RHW_COMPUTE_CREATE, CONTEXT, KEY, PAGES, data, 0, &result), "create");
    must(card_command(&gpu, RHW_COMPUTE_ALLOCATE, CONTEXT, KEY, PAGES, data, 0, &result), "allocate");
    say_result("allocate", &result);
    must(card_command(&gpu, RHW_COMPUTE_COPY, CONTEXT, KEY, 0, data, size, &result), "copy");
    say_result("copy", &result);
    must(card_command(&gpu, RHW_COMPUTE_LAUNCH, CONTEXT, KEY, CYCLES, data, 0, &result), "launch");
    say_result("launch", &result);
    must(card_command(&gpu, RHW_COMPUTE_DESTROY, CONTEXT, KEY, 0, data, 0, &result), "destroy");
    print("computed\n");
}

static void borrow(void)
{
    ra_result result;

    agent.line.send = serial_send;
    agent.line.receive = serial_receive;
    agent.host = setting("host");
    agent.token = setting("token");
    agent.node = setting("node");
    result = ra_request(&agent, setting("kind"), number(setting("size")), &loan);
    if (result != RA_OK) {
        print("refused ");
        print_hex(result, 1); /* ra_result */
        say("", loan.reason);
        end(2);
    }
    say("loan", loan.gpu);
}

static void give_back(void)
{
    char id[RA_TEXT];

    memcpy(id, loan.id, sizeof id);
    must(ra_release(&agent, id, &loan) == RA_OK, "release");
    while (!card_gone())
        let_go();
    print("released\n");
}

static int into_memory(void *to, const char *data, size_t size)
{
    size_t *at = to;

    if (size > gpu.memory_size - *at)
        return 0;
    memcpy(gpu.memory + *at, data, size);
    *at += size;
    return 1;
}

/* What the server hands over goes to the GPU's memory, and the GPU works out its digest. */
static void fetch(const char *name)
{
    struct rhw_result result;
    size_t end = DATA_AT;
    int tries = 0;

    /* The server may not know yet that this guest sees its GPU, or be asked too often. */
    while (ra_data(&agent, name, into_memory, &end, &fetched) != RA_OK)
        must((fetched.http == 403 || fetched.http == 429) && ++tries < 100, "data");
    must(card_digest(&gpu, gpu.memory + DATA_AT, end - DATA_AT, &result), "data digest");
    say_result("data", &result);
}

void begin(const uint32_t *multiboot);

void begin(const uint32_t *multiboot)
{
    read_settings(multiboot);
    print("booted\n");
    if (*setting("host"))
        borrow();
    while (!card_find(&gpu))
        let_go();
    print("card\n");
    compute();
    if (*setting("data"))
        fetch(setting("data"));
    if (*setting("megabytes"))
        relay_against_direct(&gpu, number(setting("megabytes")));
    if (*setting("host"))
        give_back();
    if (*setting("deaf"))
        print("deaf\n");
    while (*setting("deaf")) /* and it goes on as if the memory were its own */
        *(volatile uint8_t *)(gpu.memory + 8192) = 0xEE;
    if (*setting("again")) {
        while (!card_gone())
            let_go();
        while (!card_find(&gpu))
            let_go();
        compute();
    }
    while (*setting("stay"))
        let_go();
    print("done\n");
    end(0);
}
