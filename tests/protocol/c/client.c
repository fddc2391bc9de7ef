/* A program of a user's: the port named on the command line, the calls of the library one after the other. */
#include "ringhil_client.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

struct port {
    int fd;
    long patience; /* ms */
    struct timespec began;
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
    struct pollfd wait = {port->fd, POLLIN, 0};
    if (left <= 0 || poll(&wait, 1, (int)left) == 0)
        return 0;
    return read(port->fd, byte, 1) == 1 ? 1 : -1;
}

static unsigned events;

static void on_event(void *context, const uint8_t *message, size_t length) {
    (void)context;
    (void)length;
    events += message[0] == RH_TYPE_COUNT_EVENT;
}

static int check(const char *what, enum rh_status status, const struct rh_client *client) {
    if (status == RH_REFUSED)
        printf("%s: refused %u: %.*s\n", what, client->refusal.why, (int)client->refusal.text_length,
               (const char *)client->refusal.text);
    else if (status != RH_OK)
        printf("%s: status %d\n", what, (int)status);
    return status == RH_OK;
}

int main(int argc, char **argv) {
    static uint8_t in[RH_LONGEST + RH_CRC_BYTES], out[RH_WRAPPED(256)];
    struct port port = {argc > 1 ? open(argv[1], O_RDWR | O_NOCTTY) : -1, 3000, {0, 0}};
    struct termios raw;
    struct rh_stream stream = {&port, send_all, receive};
    struct rh_client client;
    if (port.fd < 0) {
        perror("open");
        return 2;
    }
    if (tcgetattr(port.fd, &raw) == 0) {
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
        raw.c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IGNCR | IXON | IXOFF | ISTRIP | BRKINT);
        raw.c_oflag &= ~(tcflag_t)OPOST;
        tcsetattr(port.fd, TCSANOW, &raw);
    }
    rh_client_init(&client, stream, in, sizeof in, out, sizeof out);
    client.on_event = on_event;

    struct rh_hello_reply hello;
    if (!check("hello", rh_hello(&client, "c client", &hello), &client))
        return 1;
    printf("hello: %.*s, %u GPUs, version %u.%u\n", (int)hello.name_length, (const char *)hello.name, hello.gpus,
           hello.major, hello.minor);
    struct rh_census_reply census;
    if (check("census", rh_census(&client, &census), &client))
        printf("census: %u of %u, members %llx\n", census.count, census.size,
               census.members_count ? (unsigned long long)rh_word(census.members, 0) : 0);
    struct rh_last_census_reply last;
    if (check("last_census", rh_last_census(&client, &last), &client))
        printf("last_census: %u of %u\n", last.count, last.size);
    uint32_t value = 0;
    if (check("read", rh_read(&client, 3, RH_REGISTER_COMPUTE_SETUP, &value), &client))
        printf("read: %u\n", value);
    if (check("write", rh_write(&client, 3, RH_REGISTER_COMPUTE_SETUP, 77), &client) &&
        check("read", rh_read(&client, 3, RH_REGISTER_COMPUTE_SETUP, &value), &client))
        printf("read: %u\n", value);
    check("read", rh_read(&client, 999, RH_REGISTER_COMPUTE_SETUP, &value), &client);
    if (check("inject", rh_inject(&client, RH_INJECTION_SET, RH_FAULT_DEAD, 5, 0), &client) &&
        check("census", rh_census(&client, &census), &client))
        printf("census: %u of %u, members %llx\n", census.count, census.size, (unsigned long long)rh_word(census.members, 0));
    check("inject", rh_inject(&client, RH_INJECTION_CLEAR, RH_FAULT_DEAD, 5, 0), &client);
    check("subscribe", rh_subscribe(&client, RH_EVENTS_COUNTS), &client);
    check("census", rh_census(&client, &census), &client);
    port.patience = 300;
    check("listen", rh_listen(&client), &client);
    printf("events: %s\n", events ? "some" : "none");
    uint64_t before = 0, after = 0;
    if (check("time", rh_time(&client, &before), &client) && check("time", rh_time(&client, &after), &client))
        printf("time: %s\n", after >= before ? "passes" : "goes back");
    close(port.fd);
    return 0;
}
