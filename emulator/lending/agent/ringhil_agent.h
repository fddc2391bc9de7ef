/* Agent of a guest that borrows a GPU: request, status, release (V1), data of the server's (V6), over HTTP on any line of
 * bytes; for HTTPS the line is one of a library for TLS.
 *
 * C99 without a library: it runs in a kernel as well as in a process. It takes no memory but what it is given, and what
 * comes from the server is bounded and checked. One loan at a time is asked about; an agent is for one thread. */
#ifndef RINGHIL_AGENT_H
#define RINGHIL_AGENT_H

#include <stddef.h>

enum {
    RA_TEXT = 64,      /* bytes of an id, a GPU, a state, the 0 at the end included */
    RA_LARGEST = 16384 /* bytes of an answer */
};

typedef enum {
    RA_OK = 0,
    RA_REFUSED = 1,  /* the server says no: `http` and `reason` say why */
    RA_LOST = 2,     /* the line has ended */
    RA_MALFORMED = 3, /* what came is no answer, or too large */
    RA_UNFIT = 4,    /* what is asked for can't be said: too long, or not printable */
    RA_UNWANTED = 5  /* who takes the data wants no more of it */
} ra_result;

/* The line to the server. Both return the bytes that they moved, 1 at least; 0 or less: the line is lost. */
typedef struct {
    long (*send)(void *line, const char *data, size_t size);
    long (*receive)(void *line, char *data, size_t size);
    void *line;
} ra_line;

typedef struct {
    ra_line line;
    const char *host;  /* for the header Host, such as "10.0.2.2:8080" */
    const char *token; /* of the server */
    const char *node;  /* address of this guest, such as "i-0000002d" */
    char buffer[RA_LARGEST];
} ra_agent;

typedef struct {
    int http; /* status of the answer, such as 201 */
    char id[RA_TEXT];
    char gpu[RA_TEXT];
    char state[RA_TEXT];
    char reason[2 * RA_TEXT]; /* where it is refused */
} ra_loan;

/* Asks for a GPU for work of a kind, such as "training", and a size. */
ra_result ra_request(ra_agent *agent, const char *kind, unsigned long size, ra_loan *loan);

/* What has become of a loan. */
ra_result ra_status(ra_agent *agent, const char *id, ra_loan *loan);

/* Takes data that has come. 0: it wants no more. */
typedef int (*ra_take)(void *to, const char *data, size_t size);

/* A file that the server hands over to guests that have a GPU, as it comes: all of it has come when this is RA_OK. The
 * line is of no use for another question after anything else. */
ra_result ra_data(ra_agent *agent, const char *name, ra_take take, void *to, ra_loan *loan);

/* Gives it back. */
ra_result ra_release(ra_agent *agent, const char *id, ra_loan *loan);

#endif
