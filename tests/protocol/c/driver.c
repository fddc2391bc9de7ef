/* Applications on a card at a port: commands from standard input, one a line, what became of each on standard output.
 * `create APPLICATION LIMIT SLICE`, `configure` likewise; `allocate`, `free`, `launch`, `query` APPLICATION AMOUNT; `copy`
 * APPLICATION PAGE BYTES; `wait`, `cancel`, `destroy` APPLICATION; `fault FAULT GPU VALUE`, `end FAULT GPU`; `keep 1`. An
 * application is a digit: it uses the context of that number, on the GPU on the command line. */
#include "ringhil_driver.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define APPLICATIONS 10u

struct port {
    int fd;
    long patience; /* ms */
    struct timespec began;
    uint8_t kept[4096]; /* read, and not given yet */
    size_t at, end;
};

static long waited(const struct port *port) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - port->began.tv_sec) * 1000 + (now.tv_nsec - port->began.tv_nsec) / 1000000;
}

static int send_all(void *context, const uint8_t *data, size_t length) {
    const struct port *port = context;
    while (length) {
        ssize_t sent = write(port->fd, data, length);
        if (sent <= 0)
            return 0;
        data += sent;
        length -= (size_t)sent;
    }
    return 1;
}

static int receive(void *context, uint8_t *byte, int restart) {
    struct port *port = context;
    if (restart)
        clock_gettime(CLOCK_MONOTONIC, &port->began);
    long left = port->patience - waited(port);
    if (left <= 0)
        return 0;
    if (port->at == port->end) {
        struct pollfd wait = {port->fd, POLLIN, 0};
        if (poll(&wait, 1, (int)left) == 0)
            return 0;
        ssize_t got = read(port->fd, port->kept, sizeof port->kept);
        if (got <= 0)
            return -1;
        port->at = 0;
        port->end = (size_t)got;
    }
    *byte = port->kept[port->at++];
    return 1;
}

static void raw(int fd) {
    struct termios line;
    if (tcgetattr(fd, &line) == 0) {
        line.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
        line.c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IGNCR | IXON | IXOFF | ISTRIP | BRKINT);
        line.c_oflag &= ~(tcflag_t)OPOST;
        tcsetattr(fd, TCSANOW, &line);
    }
}

static struct rh_driver driver;
static struct rh_context contexts[APPLICATIONS];

static enum rh_told carry_out(const char *what, struct rh_context *context, unsigned long a, unsigned long b,
                              struct rh_answer *answer) {
    static uint8_t data[5000];
    struct rh_settings settings = {(uint32_t)a, (uint32_t)b, 0, 0};
    for (size_t i = 0; i < sizeof data; ++i)
        data[i] = (uint8_t)(i * 7u);
    if (!strcmp(what, "create"))
        return rh_create(&driver, context, &settings, answer);
    if (!strcmp(what, "configure"))
        return rh_configure(&driver, context, &settings, answer);
    if (!strcmp(what, "allocate"))
        return rh_allocate(&driver, context, (uint32_t)a, answer);
    if (!strcmp(what, "free"))
        return rh_free(&driver, context, (uint32_t)a, answer);
    if (!strcmp(what, "copy"))
        return rh_copy(&driver, context, (uint32_t)a, data, b, answer);
    if (!strcmp(what, "launch"))
        return rh_launch(&driver, context, (uint32_t)a, answer);
    if (!strcmp(what, "wait"))
        return rh_wait(&driver, context, answer);
    if (!strcmp(what, "cancel"))
        return rh_cancel(&driver, context, answer);
    if (!strcmp(what, "query"))
        return rh_query(&driver, context, (uint32_t)a, answer);
    if (!strcmp(what, "destroy"))
        return rh_destroy(&driver, context, answer);
    exit(3);
}

int main(int argc, char **argv) {
    static uint8_t in[RH_LONGEST + RH_CRC_BYTES], out[RH_WRAPPED(RH_DRIVER_REQUEST)];
    static struct port port;
    char line[200], what[16];
    if (argc < 4)
        return 2;
    port.fd = open(argv[1], O_RDWR | O_NOCTTY);
    port.patience = atol(argv[3]);
    struct rh_stream stream = {&port, send_all, receive};
    if (port.fd < 0)
        return 2;
    raw(port.fd);
    rh_driver_init(&driver, stream, in, sizeof in, out, sizeof out);
    if (rh_driver_start(&driver, "applications") != RH_OK)
        return 2;
    for (unsigned i = 1; i < APPLICATIONS; ++i)
        rh_attach(&driver, &contexts[i], (uint16_t)atoi(argv[2]), (uint8_t)i, 1000u + i);
    while (fgets(line, sizeof line, stdin)) {
        unsigned long n = 0, a = 0, b = 0;
        struct rh_answer answer = {0, 0, 0, 0};
        if (sscanf(line, "%15s %lu %lu %lu", what, &n, &a, &b) < 2)
            return 3;
        if (!strcmp(what, "fault") || !strcmp(what, "end")) {
            uint8_t injection = what[0] == 'f' ? RH_INJECTION_SET : RH_INJECTION_CLEAR;
            if (rh_inject(&driver.client, injection, (uint8_t)n, (uint16_t)a, (uint32_t)b) != RH_OK)
                return 4;
            continue;
        }
        if (!strcmp(what, "keep")) {
            if (rh_keep_contexts(&driver.client, (uint8_t)n) != RH_OK)
                return 4;
            continue;
        }
        enum rh_told told = carry_out(what, &contexts[n % APPLICATIONS], a, b, &answer);
        printf("%d %u %u %016llx %u %s\n", (int)told, answer.status, answer.refusal,
               (unsigned long long)answer.digest, answer.cycles, rh_told_text(told, &answer));
        fflush(stdout);
    }
    fprintf(stderr, "resent %u\n", driver.resent);
    for (unsigned i = 1; i < APPLICATIONS; ++i)
        rh_detach(&driver, &contexts[i]);
    close(port.fd);
    return driver.contexts != 0;
}
