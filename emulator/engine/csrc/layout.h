// Rows that Python reads as they lie in memory.
// Generated from emulator/engine/layout.py: do not edit; `make generate` rewrites it.
#ifndef RINGHIL_LAYOUT_H
#define RINGHIL_LAYOUT_H

#include <array>
#include <cstdint>

namespace ringhil {

constexpr uint8_t FROM_RING = 0;
constexpr uint8_t TO_CPU = 1;
constexpr uint32_t REGISTER = 0x100;
constexpr uint8_t FIRST_LIVE = 0x35, LAST_LIVE = 0x39;  // registers

// A frame has arrived.
struct Event {
    uint64_t cycle;  // in which the last flit was there
    uint32_t cell;  // the GPU
    uint8_t kind;  // FROM_RING or TO_CPU
    uint8_t port;  // or virtual channel
    uint8_t bad;  // it arrived damaged
    uint8_t reserved;  // 0
    uint64_t offset;  // bytes, in the frame buffer
    uint64_t length;  // bytes
};
static_assert(sizeof(Event) == 32);

// A transmitter has put something else on its wires.
struct Change {
    uint64_t cycle;  // from which on it is so
    uint64_t data;  // a flit
    uint32_t cell;  // the GPU
    uint8_t port;  // 0, 1: ring ports 1 and 2; 2: to the CPU; 3: to another card
    uint8_t ctl;  // bits of `wire.LinkBit`
    uint16_t reserved;  // 0
};
static_assert(sizeof(Change) == 24);

// A register that is watched has changed.
struct Observation {
    uint64_t cycle;  // from which on it reads so
    uint32_t cell;  // the GPU
    uint32_t mask;  // bits that are watched
    uint32_t value;  // what they read
    uint32_t address;  // of the register
};
static_assert(sizeof(Observation) == 24);

// A statistics message that a ring port has sent.
struct Message {
    uint64_t since;  // cycle from which on its first flit was on the wire
    std::array<uint64_t, 4> flits;  // the first ones
};
static_assert(sizeof(Message) == 40);

// How a run or trace has ended, and where what it brought lies: Python reads it without a call.
struct Ended {
    uint64_t now;  // the cycle that is next
    uint64_t events;  // number of them
    uint64_t events_at;  // address
    uint64_t bytes;  // number of them, in the frame buffer
    uint64_t bytes_at;  // address
    uint64_t changes;  // number of them
    uint64_t changes_at;  // address
    uint64_t observations;  // number of them
    uint64_t observations_at;  // address
    uint64_t evaluations;  // of nodes, since power-up
    uint64_t busy_cycles;  // in which a node was evaluated, since power-up
    uint64_t lost;  // nodes outside that were lost, since power-up
    uint64_t differences;  // of nodes outside and their twins, that nobody has asked for yet
};
static_assert(sizeof(Ended) == 104);

// A node outside: how it is, since power-up.
struct OutsideNode {
    uint32_t cell;  // the GPU
    uint32_t lost;  // 1: nothing more comes of it
    uint64_t lost_at;  // cycle of which nothing came
    uint64_t why_at;  // address of a text: what is the matter with it
    uint64_t steps;  // cycles in which it was clocked
    uint64_t differing;  // cycles in which its twin here did otherwise, or a register of it read otherwise
    uint64_t first_differing;  // the first of them
    uint64_t sent;  // bytes to it
    uint64_t received;  // bytes from it
};
static_assert(sizeof(OutsideNode) == 64);

// A node outside did otherwise than its twin.
struct Difference {
    uint64_t cycle;  // in which it was clocked, or its register was read
    uint64_t value;  // what it put out there, or what its register read
    uint32_t cell;  // the GPU
    uint32_t place;  // 8 bytes of its outputs, counted from 0 (`node_loop.OUTPUTS`); or REGISTER + an address
};
static_assert(sizeof(Difference) == 24);

}  // namespace ringhil

#endif
