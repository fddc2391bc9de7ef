/* The agent as a command:
 *
 *     ringhil_agent HOST:PORT NODE request KIND SIZE
 *     ringhil_agent HOST:PORT NODE status ID
 *     ringhil_agent HOST:PORT NODE release ID
 *     ringhil_agent HOST:PORT NODE data NAME FILE
 *
 * The token is in the environment: RINGHIL_TOKEN. Prints one line of JSON; exit code 0: done, 1: the server says no,
 * 2: it could not be asked. */
#define _POSIX_C_SOURCE 200112L

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "ringhil_agent.h"

enum { PATIENCE = 10 /* seconds */ };

static long socket_send(void *line, const char *data, size_t size)
{
    return (long)send(*(int *)line, data, size, MSG_NOSIGNAL);
}

static long socket_receive(void *line, char *data, size_t size)
{
    return (long)recv(*(int *)line, data, size, 0);
}

/* -1: nobody is there. */
static int connected(const char *host, const char *port)
{
    struct addrinfo wanted, *found, *each;
    struct timeval patience;
    int line = -1;

    memset(&wanted, 0, sizeof wanted);
    wanted.ai_socktype = SOCK_STREAM;
    if (getaddrinfo(host, port, &wanted, &found))
        return -1;
    for (each = found; each && line < 0; each = each->ai_next) {
        line = socket(each->ai_family, each->ai_socktype, each->ai_protocol);
        if (line < 0)
            continue;
        patience.tv_sec = PATIENCE;
        patience.tv_usec = 0;
        setsockopt(line, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        setsockopt(line, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        if (connect(line, each->ai_addr, each->ai_addrlen)) {
            close(line);
            line = -1;
        }
    }
    freeaddrinfo(found);
    return line;
}

static int take(void *to, const char *data, size_t size)
{
    return fwrite(data, 1, size, to) == size;
}

/* The file is there when all of it has come. */
static ra_result fetched(ra_agent *agent, const char *name, const char *to, ra_loan *loan)
{
    char part[4096];
    FILE *file;
    ra_result result;

    if ((size_t)snprintf(part, sizeof part, "%s.%ld.part", to, (long)getpid()) >= sizeof part)
        return RA_UNFIT;
    file = fopen(part, "wb");
    if (!file)
        return RA_UNWANTED;
    result = ra_data(agent, name, take, file, loan);
    if (fclose(file) && result == RA_OK)
        result = RA_UNWANTED;
    if (result == RA_OK && rename(part, to))
        result = RA_UNWANTED;
    if (result != RA_OK)
        remove(part);
    return result;
}

static int wrong(const char *what)
{
    fprintf(stderr, "ringhil_agent: %s\n", what);
    return 2;
}

int main(int count, char **words)
{
    static ra_agent agent; /* it is large for a stack */
    char host[256], *port, *end;
    unsigned long size;
    ra_loan loan;
    ra_result result;
    int line;

    if (count < 5 || strlen(words[1]) >= sizeof host || !strrchr(words[1], ':'))
        return wrong("wanted is HOST:PORT NODE request KIND SIZE | status ID | release ID | data NAME FILE");
    strcpy(host, words[1]);
    port = strrchr(host, ':');
    *port++ = 0;
    agent.host = words[1];
    agent.node = words[2];
    agent.token = getenv("RINGHIL_TOKEN");
    if (!agent.token)
        return wrong("RINGHIL_TOKEN is not set; wanted is the token of the server");
    line = connected(host, port);
    if (line < 0)
        return wrong("nobody answers at that address");
    agent.line.send = socket_send;
    agent.line.receive = socket_receive;
    agent.line.line = &line;
    if (!strcmp(words[3], "request") && count == 6) {
        errno = 0;
        size = strtoul(words[5], &end, 10);
        if (*end || end == words[5] || errno || words[5][0] == '-')
            return wrong("SIZE is no number");
        result = ra_request(&agent, words[4], size, &loan);
    } else if (!strcmp(words[3], "status") && count == 5) {
        result = ra_status(&agent, words[4], &loan);
    } else if (!strcmp(words[3], "release") && count == 5) {
        result = ra_release(&agent, words[4], &loan);
    } else if (!strcmp(words[3], "data") && count == 6) {
        result = fetched(&agent, words[4], words[5], &loan);
    } else {
        return wrong("wanted is request KIND SIZE, status ID, release ID or data NAME FILE");
    }
    close(line);
    if (result == RA_UNFIT)
        return wrong("a word is empty, too long, or has characters that no word here may have");
    if (result == RA_LOST)
        return wrong("the server has gone");
    if (result == RA_UNWANTED)
        return wrong("the file can't be written");
    if (result == RA_MALFORMED)
        return wrong("what came is no answer of a lending server");
    printf("{\"http\": %d, \"id\": \"%s\", \"gpu\": \"%s\", \"state\": \"%s\", \"error\": \"%s\"}\n", loan.http, loan.id,
           loan.gpu, loan.state, loan.reason);
    return result == RA_OK ? 0 : 1;
}
