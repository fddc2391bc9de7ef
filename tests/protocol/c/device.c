/* A card of somebody's own on standard input and output: a few registers, no ring. */
#include "ringhil_client.h"

#include <string.h>
#include <unistd.h>

#define GPUS 2u

#define LONGEST 300u /* bytes of a message */
#define ANSWER 80u   /* bytes of the longest answer */

/* The cost of work; of all other registers there is none. */
static uint32_t registers[GPUS][2] = {{32, 1}, {32, 1}}, done;

static uint32_t *find(uint16_t gpu, uint8_t address) {
    return address == RH_REGISTER_COMPUTE_SETUP || address == RH_REGISTER_COMPUTE_PER_FLIT
               ? &registers[gpu][address - RH_REGISTER_COMPUTE_SETUP]
               : 0;
}

static size_t refuse(uint16_t id, uint8_t why, uint8_t *out, size_t room) {
    const char *text = why == RH_REFUSAL_NO_SUCH_GPU        ? "there are GPUs 0 and 1"
                       : why == RH_REFUSAL_NO_SUCH_REGISTER ? "there is no such register"
                       : why == RH_REFUSAL_CANNOT           ? "this card counts nothing"
                       : why == RH_REFUSAL_BAD_LENGTH       ? "the request has a wrong length"
                                                            : "this is no request";
    return rh_refuse(id, why, text, out, room);
}

static size_t answer(void *context, const uint8_t *request, size_t length, uint8_t *out, size_t room) {
    static const char name[] = "a card in C";
    uint16_t id = rh_id(request, length);
    struct rh_hello hello;
    struct rh_time time;
    struct rh_read read_;
    struct rh_write write_;
    (void)context;
    ++done;
    if (rh_unpack_hello(&hello, request, length) && hello.name_length <= 64) {
        struct rh_hello_reply reply = {
            id, RH_MAJOR, RH_MINOR, 0, GPUS, 0, LONGEST, 0, 7, done, (const uint8_t *)name, strlen(name)};
        return rh_pack_hello_reply(&reply, out, room);
    }
    if (rh_unpack_time(&time, request, length)) {
        struct rh_time_reply reply = {id, done};
        return rh_pack_time_reply(&reply, out, room);
    }
    if (rh_unpack_read(&read_, request, length)) {
        if (read_.gpu >= GPUS)
            return refuse(id, RH_REFUSAL_NO_SUCH_GPU, out, room);
        if (!find(read_.gpu, read_.address))
            return refuse(id, RH_REFUSAL_NO_SUCH_REGISTER, out, room);
        struct rh_read_reply reply = {id, *find(read_.gpu, read_.address), done};
        return rh_pack_read_reply(&reply, out, room);
    }
    if (rh_unpack_write(&write_, request, length)) {
        if (write_.gpu >= GPUS)
            return refuse(id, RH_REFUSAL_NO_SUCH_GPU, out, room);
        if (!find(write_.gpu, write_.address))
            return refuse(id, RH_REFUSAL_NO_SUCH_REGISTER, out, room);
        *find(write_.gpu, write_.address) = write_.value;
        struct rh_write_reply reply = {id, done};
        return rh_pack_write_reply(&reply, out, room);
    }
    uint8_t type = (uint8_t)rh_type(request, length);
    if (type >= RH_TYPE_HELLO && type <= RH_TYPE_WRITE)
        return refuse(id, RH_REFUSAL_BAD_LENGTH, out, room);
    return refuse(id, type > RH_TYPE_WRITE && type <= RH_TYPE_LINE ? RH_REFUSAL_CANNOT : RH_REFUSAL_UNKNOWN_TYPE, out, room);
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
    static uint8_t in[LONGEST + RH_CRC_BYTES], answers[RH_KEPT * ANSWER], out[RH_WRAPPED(ANSWER)];
    struct rh_stream stream = {0, send_all, 0};
    struct rh_device device;
    uint8_t byte;
    rh_device_init(&device, stream, in, sizeof in, answers, ANSWER, out, sizeof out);
    device.answer = answer;
    while (read(0, &byte, 1) == 1)
        if (!rh_device_receive(&device, byte))
            return 1;
    return 0;
}
