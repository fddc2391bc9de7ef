// Frames on their way between Python and the hardware: those that wait to go out, and those that come in by flits.
#ifndef RINGHIL_MAIL_H
#define RINGHIL_MAIL_H

#include <algorithm>
#include <deque>
#include <utility>

#include "cell.h"
#include "layout.h"

namespace ringhil {

struct Frame {
    uint64_t at = 0;  // not before this cycle
    uint8_t port = 0;
    std::vector<uint64_t> flits;
};

inline Frame make_frame(uint64_t at, uint8_t port, const uint8_t* bytes, uint64_t length) {
    Frame frame{at, port, std::vector<uint64_t>(length / 8)};
    for (uint64_t& flit : frame.flits) {
        for (int i = 0; i < 8; ++i) flit = flit << 8 | *bytes++;
    }
    return frame;
}

// A frame that is being received; `bad` when it ended damaged.
struct Collector {
    std::vector<uint64_t> flits;
    bool open = false;
    bool bad = false;

    // True when `flits` now holds a whole frame. A frame without an end is forgotten at the next beginning.
    bool take(uint64_t data, bool sof, bool eof, bool damaged) {
        if (sof) {
            flits.clear();
            open = true;
        }
        if (!open) return false;
        flits.push_back(data);
        if (flits.size() > RINGHIL_MAX_FRAME_FLITS) open = false;
        if (!eof || !open) return false;
        open = false;
        bad = damaged;
        return true;
    }
};

// What a GPU's firmware writes into the mailbox, a flit in each cycle in which the mailbox is ready.
class Outbox {
public:
    void add(Frame frame) { m_frames.push_back(std::move(frame)); }

    void forget() {
        m_frames.clear();
        m_sent = 0;
    }

    // Cycle from which on there is something to write.
    uint64_t due() const { return m_frames.empty() ? UINT64_MAX : m_frames.front().at; }

    void put(uint64_t now, bool ready, CellIn& in) {
        in.mtx_ctl = 0;
        in.mtx_data = 0;
        if (due() > now || !ready) return;
        const Frame& frame = m_frames.front();
        const bool last = m_sent + 1 == frame.flits.size();
        in.mtx_data = frame.flits[m_sent];
        in.mtx_ctl = MTX_VALID | (m_sent ? 0 : MTX_SOF) | (last ? MTX_EOF : 0) | frame.port << 3;
        m_sent = last ? 0 : m_sent + 1;
        if (last) m_frames.pop_front();
    }

private:
    std::deque<Frame> m_frames;
    size_t m_sent = 0;
};

// Frames that have arrived in a run, in order of time: a table, and the bytes of all of them.
class Arrivals {
public:
    const std::vector<Event>& events() const { return m_events; }
    const std::vector<uint8_t>& bytes() const { return m_bytes; }

    void clear() {
        m_events.clear();
        m_bytes.clear();
    }

    void add(uint64_t cycle, uint32_t cell, uint8_t kind, int port, const Collector& frame) {
        Event event{cycle, cell, kind, static_cast<uint8_t>(port), frame.bad, 0, m_bytes.size(), 0};
        event.length = frame.flits.size() * 8;
        m_bytes.resize(m_bytes.size() + event.length);
        uint8_t* to = m_bytes.data() + event.offset;
        for (const uint64_t flit : frame.flits) {
            for (int i = 0; i < 8; ++i) *to++ = static_cast<uint8_t>(flit >> (56 - 8 * i));
        }
        m_events.push_back(event);
    }

private:
    std::vector<Event> m_events;
    std::vector<uint8_t> m_bytes;
};

}  // namespace ringhil

#endif
