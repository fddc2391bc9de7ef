/* Inputs from standard input, each behind its length (4 bytes, most significant first): what a card's line brings to a
 * driver while it has the commands of one application carried out. Prints how many inputs there were, and how many
 * commands were done, refused, lost, without a line, and none. */
#include "ringhil_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IN 400u /* bytes of the buffer for messages: less than a line may bring */
#define MOST_WRITES 4000u

struct input {
    const uint8_t *data;
    size_t at, length, writes;
    uint32_t crc; /* of all that is to be sent, so that it is read */
};

static int take(void *context, const uint8_t *data, size_t length) {
    struct input *input = context;
    input->crc = rh_crc_more(input->crc, data, length);
    if (++input->writes > MOST_WRITES)
        abort(); /* it never ends */
    return 1;
}

static int give(void *context, uint8_t *byte, int restart) {
    struct input *input = context;
    (void)restart;
    if (input->at == input->length)
        return input->length % 2 ? -1 : 0; /* the line is gone, or silent */
    *byte = input->data[input->at++];
    return 1;
}

static unsigned long count[5], inputs;

static void play(const uint8_t *data, size_t length) {
    static const uint8_t copied[600] = {1, 2, 3};
    static const struct rh_settings settings = {60, 500, 7, 1};
    struct input input = {data, 0, length, 0, 0};
    struct rh_stream line = {&input, take, give};
    uint8_t *in = malloc(IN), *out = malloc(RH_WRAPPED(RH_DRIVER_REQUEST)); /* so that a byte beyond them is seen */
    struct rh_driver *driver = malloc(sizeof *driver);
    struct rh_context *context = malloc(sizeof *context);
    struct rh_answer answer;
    rh_driver_init(driver, line, in, IN, out, RH_WRAPPED(RH_DRIVER_REQUEST));
    driver->tries = 2;
    driver->client.tries = 2;
    if (rh_driver_start(driver, "fuzz") == RH_OK) {
        rh_attach(driver, context, 2, 3, 9);
        ++count[rh_create(driver, context, &settings, &answer)];
        ++count[rh_allocate(driver, context, 10, &answer)];
        ++count[rh_copy(driver, context, 4, copied, sizeof copied, &answer)];
        ++count[rh_launch(driver, context, 100, &answer)];
        ++count[rh_query(driver, context, RHW_QUERY_LAUNCH, &answer)];
        enum rh_told told = rh_wait(driver, context, &answer);
        ++count[told];
        if (!rh_told_text(told, &answer)[0])
            abort();
        ++count[rh_destroy(driver, context, &answer)];
        rh_detach(driver, context);
    }
    free(context);
    free(driver);
    free(out);
    free(in);
}

int main(void) {
    uint8_t head[4];
    while (fread(head, 1, 4, stdin) == 4) {
        size_t length = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
        uint8_t *exact = malloc(length ? length : 1);
        if (fread(exact, 1, length, stdin) != length)
            return 2;
        ++inputs;
        play(exact, length);
        free(exact);
    }
    printf("%lu %lu %lu %lu %lu %lu\n", inputs, count[0], count[1], count[2], count[3], count[4]);
    return 0;
}
