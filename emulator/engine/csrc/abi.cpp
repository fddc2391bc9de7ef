// The C ABI: what Python calls (library.py has the same list). An engine's handle is its address.

#include <cstdio>
#include <stdexcept>

#include "engine.h"

using ringhil::Engine;

// What the RTL does when an assertion inside it fails. Its message, with instance and cycle, is on standard output.
void vl_stop(const char* filename, int linenum, const char*) {
    std::fflush(stdout);
    throw std::runtime_error(std::string(filename) + ":" + std::to_string(linenum));
}

// 0, or 1 if the RTL has stopped: `ringhil_stopped_at` then says where, and the engine is of no use any more.
template <typename Do>
static int unless_stopped(Engine* e, Do act) {
    try {
        act();
    } catch (const std::runtime_error& stop) {
        e->stop(stop.what());
        return 1;
    }
    return 0;
}

#define RINGHIL_API extern "C" __attribute__((visibility("default")))

// One element a cell: card, number in the card, size of the card's ring; the cells before and after it, and the one at
// its boundary port, or NOBODY.
RINGHIL_API Engine* ringhil_create(const uint16_t* cards, const uint16_t* nodes, const uint16_t* sizes,
                                   const uint32_t* before, const uint32_t* after, const uint32_t* peer,
                                   uint32_t count) {
    std::vector<ringhil::Strap> straps(count);
    for (uint32_t i = 0; i < count; ++i)
        straps[i] = {static_cast<uint8_t>(cards[i]), nodes[i], sizes[i], before[i], after[i], peer[i]};
    return new Engine(straps);
}
RINGHIL_API void ringhil_destroy(Engine* e) { delete e; }
RINGHIL_API void ringhil_set_skipping(Engine* e, int on) { e->set_skipping(on); }

// What they brought is where `ringhil_ended` says, until the next call of either.
RINGHIL_API int ringhil_run(Engine* e, uint64_t until, uint64_t lookahead) {
    return unless_stopped(e, [&] { e->run(until, lookahead); });
}
RINGHIL_API int ringhil_trace(Engine* e, uint64_t cycles, uint64_t* data, uint8_t* ctl) {
    return unless_stopped(e, [&] { e->trace(cycles, data, ctl); });
}
RINGHIL_API const char* ringhil_stopped_at(const Engine* e) { return e->stopped_at(); }
RINGHIL_API const ringhil::Ended* ringhil_ended(const Engine* e) { return e->ended(); }

// Before the first run: this cell's hardware is at the other end of a line, a descriptor that stays whoever's it is. NULL,
// or what is the matter.
RINGHIL_API const char* ringhil_attach(Engine* e, uint32_t cell, int fd, uint8_t sequence, int patience) {
    return e->attach(cell, fd, sequence, patience);
}
// Of every engine of this process: who waits for such lines, or NULL, the system's clock.
RINGHIL_API void ringhil_wait_for_lines_by(ringhil::WaitForLine wait) {
    ringhil::wait_for_line = wait ? wait : ringhil::poll_line;
}
// They stay where they are until the next call.
RINGHIL_API uint64_t ringhil_outside(Engine* e, const ringhil::OutsideNode** nodes) {
    const auto& told = e->outside();
    *nodes = told.data();
    return told.size();
}
// What they did otherwise than their twins, since the last call; it stays where it is until the next one.
RINGHIL_API uint64_t ringhil_differences(Engine* e, const ringhil::Difference** differences) {
    const auto& taken = e->differences();
    *differences = taken.data();
    return taken.size();
}
// Before the first run: it is done again.
RINGHIL_API void ringhil_recall(Engine* e, uint32_t cell, uint64_t cycle, uint32_t place, uint64_t value) {
    e->recall({cycle, value, cell, place});
}

RINGHIL_API void ringhil_watch_wires(Engine* e) { e->watch_wires(); }
RINGHIL_API void ringhil_watch_register(Engine* e, uint32_t cell, uint8_t address, uint32_t mask, int on) {
    e->watch_register(cell, address, mask, on);
}

// They stay where they are until the next call.
RINGHIL_API uint64_t ringhil_messages(Engine* e, uint64_t since, const ringhil::Message** messages) {
    const auto& recent = e->messages(since);
    *messages = recent.data();
    return recent.size();
}

RINGHIL_API void ringhil_send_mail(Engine* e, uint32_t cell, uint64_t at, uint8_t port, const uint8_t* bytes,
                                   uint64_t length) {
    e->send_mail(cell, ringhil::make_frame(at, port, bytes, length));
}
// What the firmware of a GPU that just died had not yet written.
RINGHIL_API void ringhil_forget_mail(Engine* e, uint32_t cell) { e->forget_mail(cell); }
// `frames` of them lie one behind the other in `bytes`, each so long as `lengths` says.
RINGHIL_API void ringhil_send_host(Engine* e, uint32_t cell, uint64_t at, const uint8_t* bytes,
                                   const uint32_t* lengths, uint32_t frames) {
    for (uint32_t i = 0; i < frames; ++i) {
        e->send_host(cell, ringhil::make_frame(at, 0, bytes, lengths[i]));
        bytes += lengths[i];
    }
}

// ber, delay: 4 values each, for port 1, port 2, CPU and other card.
RINGHIL_API void ringhil_set_faults(Engine* e, uint32_t cell, uint16_t node, uint8_t link, const uint16_t* ber,
                                    const uint8_t* delay) {
    e->set_faults(cell, {node, link, {ber[0], ber[1], ber[2], ber[3]}, {delay[0], delay[1], delay[2], delay[3]}});
}
// 4 values, none of them 0, for the same links.
RINGHIL_API void ringhil_draw_errors(Engine* e, uint32_t cell, const uint32_t* drawn) {
    e->draw_errors(cell, {drawn[0], drawn[1], drawn[2], drawn[3]});
}
RINGHIL_API void ringhil_poke(Engine* e, uint32_t cell, uint8_t address, uint32_t value) {
    e->poke(cell, address, value);
}
// Where the library was built to be looked into: a VCD of one moment of a cell. The engine is of no further use.
#if VM_TRACE
RINGHIL_API void ringhil_show(Engine* e, uint32_t cell, const char* path) { e->show(cell, path); }
#endif
RINGHIL_API uint32_t ringhil_peek(Engine* e, uint32_t cell, uint8_t address) { return e->peek(cell, address); }
