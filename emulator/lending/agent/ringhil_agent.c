#include "ringhil_agent.h"

typedef struct {
    char *data;
    size_t size;
    size_t room;
    int unfit;
} text;

static size_t length_of(const char *string)
{
    size_t length = 0;

    while (string[length])
        length++;
    return length;
}

static void add(text *to, const char *string)
{
    for (; *string; string++) {
        if (to->size == to->room) {
            to->unfit = 1;
            return;
        }
        to->data[to->size++] = *string;
    }
}

static void add_number(text *to, unsigned long number)
{
    char digits[24];
    size_t at = sizeof digits;

    digits[--at] = 0;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    add(to, digits + at);
}

/* Words of the caller's: nothing in them may end a line, a string or a path. */
static void add_word(text *to, const char *word)
{
    const char *each;

    if (!*word)
        to->unfit = 1;
    for (each = word; *each; each++)
        if (*each <= ' ' || *each > '~' || *each == '"' || *each == '\\' || *each == '/' || *each == '?' || *each == '#'
            || *each == '%')
            to->unfit = 1;
    add(to, word);
}

/* ------------------------------------------------------------------------------------------------------ answers */

static char small(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The value of a header in the head of an answer; 0: it has none. `name` is in small letters. */
static const char *header(const char *head, size_t size, const char *name)
{
    size_t at, i, wanted = length_of(name);

    for (at = 0; at + 1 < size; at++) {
        if (head[at] != '\n')
            continue;
        for (i = 0; i < wanted && at + 1 + i < size && small(head[at + 1 + i]) == name[i]; i++)
            ;
        if (i == wanted && at + 1 + i < size && head[at + 1 + i] == ':')
            return head + at + 2 + i;
    }
    return 0;
}

/* Bytes of the body, as the head says it; -1: it doesn't, or too many for a long. */
static long body_size(const char *head, size_t size)
{
    const char *value = header(head, size, "content-length");
    const long most = (long)(((unsigned long)-1) >> 1);
    long number = 0;
    int digits = 0;

    if (!value)
        return -1;
    while (*value == ' ' || *value == '\t')
        value++;
    for (; *value >= '0' && *value <= '9'; value++, digits++) {
        if (number > (most - 9) / 10)
            return -1;
        number = 10 * number + (*value - '0');
    }
    return digits && (*value == '\r' || *value == '\n') ? number : -1;
}

/* Where a JSON string ends that begins at `at`; `size`: it doesn't. */
static size_t past_string(const char *json, size_t size, size_t at)
{
    for (at++; at < size; at++) {
        if (json[at] == '\\')
            at++;
        else if (json[at] == '"')
            return at + 1;
    }
    return size;
}

/* A member of the outermost object, a string or a number, "" where there is none. Escapes become `?`. */
static void member(const char *json, size_t size, const char *name, char *to, size_t room)
{
    size_t at = 0, end, i, depth = 0, wanted = length_of(name);
    int key = 0;

    to[0] = 0;
    while (at < size) {
        char c = json[at];

        if (c == '"') {
            end = past_string(json, size, at);
            if (depth == 1 && key && end - at == wanted + 2) {
                for (i = 0; i < wanted && json[at + 1 + i] == name[i]; i++)
                    ;
                if (i == wanted)
                    break;
            }
            key = 0;
            at = end;
            continue;
        }
        if (c == '{' || c == '[') {
            depth++;
            key = c == '{' && depth == 1;
        } else if ((c == '}' || c == ']') && depth) {
            depth--;
        } else if (c == ',' && depth == 1) {
            key = 1;
        }
        at++;
    }
    if (at >= size)
        return;
    for (at += wanted + 2; at < size && (json[at] == ' ' || json[at] == ':'); at++)
        ;
    for (i = 0; at < size && json[at] >= '0' && json[at] <= '9' && i + 1 < room; at++, i++)
        to[i] = json[at];
    to[i] = 0;
    if (i || at >= size || json[at] != '"')
        return;
    end = past_string(json, size, at);
    for (i = 0, at++; at + 1 < end && i + 1 < room; at++, i++) {
        if (json[at] == '\\') {
            to[i] = '?';
            at++;
        } else {
            to[i] = json[at] < ' ' || json[at] > '~' ? '?' : json[at];
        }
    }
    to[i] = 0;
}

/* Reads until `size` bytes are there. */
static ra_result fill(ra_agent *agent, size_t *have, size_t size)
{
    while (*have < size) {
        long got = agent->line.receive(agent->line.line, agent->buffer + *have, size - *have);

        if (got <= 0)
            return RA_LOST;
        if ((size_t)got > size - *have)
            return RA_MALFORMED;
        *have += (size_t)got;
    }
    return RA_OK;
}

/* Reads the head of an answer to the buffer, and not more. */
static ra_result read_head(ra_agent *agent, ra_loan *loan, size_t *head_size, long *size)
{
    const char *head = agent->buffer;
    size_t have = 0;
    int i;
    ra_result result;

    do { /* byte by byte: what follows the head belongs to the body, and the line may be kept for the next question */
        if (have + 1 >= RA_LARGEST)
            return RA_MALFORMED;
        result = fill(agent, &have, have + 1);
        if (result != RA_OK)
            return result;
    } while (have < 4 || head[have - 1] != '\n' || head[have - 2] != '\r' || head[have - 3] != '\n');
    for (i = 0; i < 7; i++)
        if (head[i] != "HTTP/1."[i])
            return RA_MALFORMED;
    if (have < 16 || head[8] != ' ')
        return RA_MALFORMED;
    for (i = 9; i < 12; i++) {
        if (head[i] < '0' || head[i] > '9')
            return RA_MALFORMED;
        loan->http = 10 * loan->http + (head[i] - '0');
    }
    *head_size = have;
    *size = loan->http == 204 ? 0 : body_size(head, have);
    return *size < 0 ? RA_MALFORMED : RA_OK;
}

/* Reads the body behind its head. */
static ra_result read_body(ra_agent *agent, ra_loan *loan, size_t head_size, long size)
{
    const char *body = agent->buffer + head_size;
    size_t have = head_size;
    ra_result result;

    if ((unsigned long)size > RA_LARGEST - head_size)
        return RA_MALFORMED;
    result = fill(agent, &have, head_size + (size_t)size);
    if (result != RA_OK)
        return result;
    member(body, (size_t)size, "id", loan->id, sizeof loan->id);
    member(body, (size_t)size, "gpu", loan->gpu, sizeof loan->gpu);
    member(body, (size_t)size, "state", loan->state, sizeof loan->state);
    member(body, (size_t)size, "error", loan->reason, sizeof loan->reason);
    return loan->http >= 200 && loan->http < 300 ? RA_OK : RA_REFUSED;
}

/* ---------------------------------------------------------------------------------------------------- questions */

static ra_result send_question(ra_agent *agent, const char *path, const char *id, const char *body, ra_loan *loan)
{
    text request;
    size_t at = 0, i;

    for (i = 0; i < sizeof *loan; i++)
        ((char *)loan)[i] = 0;
    request.data = agent->buffer;
    request.size = 0;
    request.room = RA_LARGEST;
    request.unfit = 0;
    add(&request, path);
    if (id)
        add_word(&request, id);
    add(&request, " HTTP/1.1\r\nHost: ");
    add_word(&request, agent->host);
    add(&request, "\r\nAuthorization: Bearer ");
    add_word(&request, agent->token);
    if (body) {
        add(&request, "\r\nContent-Type: application/json\r\nContent-Length: ");
        add_number(&request, (unsigned long)length_of(body));
    }
    add(&request, "\r\n\r\n");
    if (body)
        add(&request, body);
    if (request.unfit)
        return RA_UNFIT;
    while (at < request.size) {
        long sent = agent->line.send(agent->line.line, request.data + at, request.size - at);

        if (sent <= 0 || (size_t)sent > request.size - at)
            return RA_LOST;
        at += (size_t)sent;
    }
    return RA_OK;
}

/* `path`: with the method before it. */
static ra_result ask(ra_agent *agent, const char *path, const char *id, const char *body, ra_loan *loan)
{
    size_t head_size;
    long size;
    ra_result result = send_question(agent, path, id, body, loan);

    if (result == RA_OK)
        result = read_head(agent, loan, &head_size, &size);
    return result == RA_OK ? read_body(agent, loan, head_size, size) : result;
}

ra_result ra_request(ra_agent *agent, const char *kind, unsigned long size, ra_loan *loan)
{
    char space[512];
    text body;

    body.data = space;
    body.size = 0;
    body.room = sizeof space - 1;
    body.unfit = 0;
    add(&body, "{\"node\": \"");
    add_word(&body, agent->node);
    add(&body, "\", \"kind\": \"");
    add_word(&body, kind);
    add(&body, "\", \"size\": ");
    add_number(&body, size);
    add(&body, "}");
    if (body.unfit)
        return RA_UNFIT;
    space[body.size] = 0;
    return ask(agent, "POST /v1/loans", 0, space, loan);
}

ra_result ra_status(ra_agent *agent, const char *id, ra_loan *loan)
{
    return ask(agent, "GET /v1/loans/", id, 0, loan);
}

ra_result ra_release(ra_agent *agent, const char *id, ra_loan *loan)
{
    return ask(agent, "DELETE /v1/loans/", id, 0, loan);
}

ra_result ra_data(ra_agent *agent, const char *name, ra_take take, void *to, ra_loan *loan)
{
    size_t head_size;
    long left;
    ra_result result = send_question(agent, "GET /v1/data/", name, 0, loan);

    if (result == RA_OK)
        result = read_head(agent, loan, &head_size, &left);
    if (result != RA_OK)
        return result;
    if (loan->http != 200)
        return read_body(agent, loan, head_size, left);
    while (left) {
        size_t most = (unsigned long)left < RA_LARGEST ? (size_t)left : RA_LARGEST;
        long got = agent->line.receive(agent->line.line, agent->buffer, most);

        if (got <= 0)
            return RA_LOST;
        if ((size_t)got > most)
            return RA_MALFORMED;
        if (!take(to, agent->buffer, (size_t)got))
            return RA_UNWANTED;
        left -= got;
    }
    return RA_OK;
}
