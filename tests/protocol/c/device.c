/* A card of somebody's own on standard input and output: a few registers, no ring. */
#include "ringhil_client.h"

#include <string.h>
#include <unistd.h>

#define GPUS 2u

static uint32_t registers[GPUS][256], done;

static size_t answer(void *context, const uint8_t *request, size_t length, uint8_t *out, size_t room) {
    static const char name[] = "a card in C";
    uint16_t id = rh_id(request, length);
    struct rh_hello hello;
    struct rh_time time;
    struct rh_read read_;
    struct rh_write write_;
    (void)context;
    ++done;
    if (rh_unpack_hello(&hello, request, length)) {
        struct rh_hello_reply reply = {id, RH_MAJOR, RH_MINOR, 0, GPUS, 0, RH_LONGEST, 0, 7, done, (const uint8_t *)name,
                                       strlen(name)};
        return rh_pack_hello_reply(&reply, out, room);
    }
    if (rh_unpack_time(&time, request, length)) {
        struct rh_time_reply reply = {id, done};
        return rh_pack_time_reply(&reply, out, room);
    }
    if (rh_unpack_read(&read_, request, length)) {
        if (read_.gpu >= GPUS)
            return rh_refuse(id, RH_REFUSAL_NO_SUCH_GPU, "there are GPUs 0 and 1", out, room);
        struct rh_read_reply reply = {id, registers[read_.gpu][read_.address], done};
        return rh_pack_read_reply(&reply, out, room);
    }
    if (rh_unpack_write(&write_, request, length) && write_.gpu < GPUS) {
        registers[write_.gpu][write_.address] += write_.value; /* done twice it would show */
        struct rh_write_reply reply = {id, done};
        return rh_pack_write_reply(&reply, out, room);
    }
    return rh_refuse(id, RH_REFUSAL_CANNOT, "this card counts nothing", out, room);
}

static int send_all(void *context, const uint8_t *data, size_t length) {
    (void)context;
    while (length) {
        ssize_t sent = write(1, data, length);
        if (sent <= 0)
            return 0;
        data += sent;
        length -= (size_t)sent;
    }
    return 1;
}

int main(void) {
    static uint8_t in[300], last[300], out[RH_WRAPPED(300)];
    struct rh_stream stream = {0, send_all, 0};
    struct rh_device device;
    uint8_t byte;
    rh_device_init(&device, stream, in, sizeof in, last, sizeof last, out, sizeof out);
    device.answer = answer;
    while (read(0, &byte, 1) == 1)
        if (!rh_device_receive(&device, byte))
            return 1;
    return 0;
}
