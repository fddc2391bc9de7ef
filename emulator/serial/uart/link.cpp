// Two UARTs wired to each other (rtl/uart_link.sv) under one clock, with a bounded queue of bytes before each transmitter
// and one behind each receiver. library.py has the same list of calls. Sides are 0 and 1.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "Vdut.h"
#include "Vdut___024root.h"

// Only the RTL says what the line does. A queue that has no room leaves the byte in the receiver's FIFO, so its RTS
// falls in time, or it overruns.

namespace {

constexpr int OVERRUN = 0, FRAMING = 1, BREAK = 3;  // bits of errors_o

// Bytes, first in, first out. Room for as many as it was made for.
class Queue {
public:
    explicit Queue(size_t room) : m_bytes(room) {}

    size_t size() const { return m_size; }
    bool full() const { return m_size == m_bytes.size(); }
    uint8_t front() const { return m_bytes[m_first]; }

    void push(uint8_t byte) {
        const size_t at = m_first + m_size++;
        m_bytes[at < m_bytes.size() ? at : at - m_bytes.size()] = byte;
    }
    void pop() {
        if (++m_first == m_bytes.size()) m_first = 0;
        --m_size;
    }

private:
    std::vector<uint8_t> m_bytes;
    size_t m_first = 0, m_size = 0;
};

struct Counts {
    uint64_t sent = 0;  // bytes that the transmitter has begun
    uint64_t received = 0;
    uint64_t overruns = 0;
    uint64_t framing = 0;
    uint64_t breaks = 0;
};

struct End {
    explicit End(size_t room) : unsent(room), arrived(room) {}

    Queue unsent, arrived;
    Counts counts;
    uint64_t flipped_until = 0;
};

// What goes into the model in a clock.
struct Inputs {
    uint8_t flip = 0, tx_valid = 0, rx_ready = 0, clear = 0;
    uint16_t tx_data = 0;

    bool operator==(const Inputs&) const = default;
};

class Link {
public:
    Link(const std::array<uint32_t, 2>& divisors, bool flow, size_t room) : m_ends{End(room), End(room)} {
        m_model.divisor_i = divisors[0] | static_cast<uint64_t>(divisors[1]) << 24;
        m_model.flow_i = flow;
        m_model.rst_i = 1;
        m_model.eval();
        edge();
        edge();
        m_model.rst_i = 0;
        while (!idle()) step(present());
        m_now = 0;
    }

    // The clocks in which nothing can change are left out.
    void pass(uint64_t clocks) {
        for (const uint64_t end = m_now + clocks; m_now < end;) {
            const Inputs inputs = present();
            if (inputs == m_inputs && m_model.idle_o) m_now = until_flip_ends(end);
            else step(inputs);
        }
    }

    bool idle() {
        return m_model.idle_o && present() == m_inputs && !m_ends[0].unsent.size() && !m_ends[1].unsent.size();
    }
    void disturb(int side, uint64_t clocks) { m_ends[side].flipped_until = m_now + clocks; }
    uint64_t now() const { return m_now; }
    End& end(int side) { return m_ends[side]; }

private:
    Inputs present() const {
        Inputs in;
        for (int i = 0; i < 2; ++i) {
            const End& e = m_ends[i];
            in.flip |= (m_now < e.flipped_until) << i;
            in.rx_ready |= !e.arrived.full() << i;
            if (!e.unsent.size()) continue;
            in.tx_valid |= 1 << i;
            in.tx_data |= e.unsent.front() << 8 * i;
        }
        in.clear = m_model.errors_o;
        return in;
    }

    // Each line that is inverted now changes again.
    uint64_t until_flip_ends(uint64_t end) const {
        for (const End& e : m_ends)
            if (e.flipped_until > m_now) end = std::min(end, e.flipped_until);
        return end;
    }

    void step(const Inputs& in) {
        // Both follow from registers alone, so they hold for this edge whatever the inputs are.
        const int taken = m_model.tx_ready_o & in.tx_valid, given = m_model.rx_valid_o & in.rx_ready;
        const uint16_t bytes = m_model.rx_data_o;
        m_model.flip_i = in.flip;
        m_model.tx_valid_i = in.tx_valid;
        m_model.tx_data_i = in.tx_data;
        m_model.rx_ready_i = in.rx_ready;
        m_model.clear_i = in.clear;
        m_inputs = in;
        edge();
        ++m_now;
        if (!(taken | given | m_model.errors_o)) return;
        for (int i = 0; i < 2; ++i) {
            End& e = m_ends[i];
            if (taken >> i & 1) {
                e.unsent.pop();
                ++e.counts.sent;
            }
            if (given >> i & 1) {
                e.arrived.push(bytes >> 8 * i & 0xFF);
                ++e.counts.received;
            }
            // Each is cleared by the next edge: one that is there then is another one.
            const int errors = m_model.errors_o >> 4 * i;
            e.counts.overruns += errors >> OVERRUN & 1;
            e.counts.framing += errors >> FRAMING & 1;
            e.counts.breaks += errors >> BREAK & 1;
        }
    }

    // A rising edge in one evaluation: the model is told that the clock was low before. Not through eval(), whose message
    // queue takes a lock each time.
    void edge() {
        m_model.clk_i = 1;
        m_model.rootp->__Vtrigprevexpr___TOP__clk_i__0 = 0;
        Vdut___024root___eval(m_model.rootp);
    }

    VerilatedContext m_context;
    Vdut m_model{&m_context, "link"};
    std::array<End, 2> m_ends;
    Inputs m_inputs;
    uint64_t m_now = 0;
};

}  // namespace

#define UART_API extern "C" __attribute__((visibility("default")))

UART_API Link* uart_create(uint32_t divisor, uint32_t other, int flow, uint32_t room) {
    return new Link({divisor, other}, flow, room);
}
UART_API void uart_destroy(Link* link) { delete link; }
UART_API void uart_pass(Link* link, uint64_t clocks) { link->pass(clocks); }
UART_API void uart_disturb(Link* link, int side, uint64_t clocks) { link->disturb(side, clocks); }

// Bytes for which there was room.
UART_API uint32_t uart_write(Link* link, int side, const uint8_t* bytes, uint64_t length) {
    Queue& queue = link->end(side).unsent;
    uint32_t taken = 0;
    while (taken < length && !queue.full()) queue.push(bytes[taken++]);
    return taken;
}

// Bytes put into `bytes`, `most` at most.
UART_API uint32_t uart_read(Link* link, int side, uint8_t* bytes, uint32_t most) {
    Queue& queue = link->end(side).arrived;
    uint32_t given = 0;
    for (; given < most && queue.size(); queue.pop()) bytes[given++] = queue.front();
    return given;
}

UART_API uint32_t uart_unsent(Link* link, int side) { return link->end(side).unsent.size(); }
UART_API uint32_t uart_arrived(Link* link, int side) { return link->end(side).arrived.size(); }
UART_API uint64_t uart_now(const Link* link) { return link->now(); }
UART_API int uart_idle(Link* link) { return link->idle(); }
UART_API const Counts* uart_counts(Link* link, int side) { return &link->end(side).counts; }
