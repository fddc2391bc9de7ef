// The engine: cells, their wires, the CPU's ends, and time. The C ABI is at the end.
//
// A cycle: every active cell reads what its neighbours put on the wires before this cycle, then all of them are
// clocked, then their outputs are looked at to see who is active next. Active are: cells that are not quiescent,
// cells that something is coming to, cells whose time has come. With nobody active, time leaps.
//
// No globals: any number of engines live side by side. Not thread-safe within one engine.

#include <algorithm>
#include <cstring>
#include <functional>
#include <queue>
#include <utility>

#ifdef RINGHIL_CARD
#include "card_backend.h"
#else
#include "cells_backend.h"
#endif
#include "host_end.h"
#include "messages.h"
#include "watchpoints.h"

namespace ringhil {

// Kinds of Event.
constexpr uint8_t FROM_RING = 0;  // a frame for a GPU's firmware; port 0, 1, 2 or 3
constexpr uint8_t TO_CPU = 1;     // a frame for the CPU; port is the virtual channel

struct Event {
    uint64_t cycle;   // in which the last flit was there
    uint32_t cell;
    uint8_t kind;
    uint8_t port;
    uint8_t bad;
    uint8_t reserved;
    uint64_t offset;  // bytes, in the frame buffer
    uint64_t length;  // bytes
};
static_assert(sizeof(Event) == 32);

// A transmitter has put something else on its wires.
struct Change {
    uint64_t cycle;
    uint64_t data;
    uint32_t cell;
    uint8_t port;  // 0, 1: ring ports 1 and 2; 2: to the CPU; 3: to another card
    uint8_t ctl;
    uint16_t reserved;
};
static_assert(sizeof(Change) == 24);

struct Write {
    uint8_t address;
    uint32_t value;
};

// All that changes beside the models: copied as a whole by snapshots.
struct State {
    uint64_t now = 0;
    std::vector<CellOut> out;
    std::vector<Faults> faults;
    std::vector<HostEnd> hosts;
    std::vector<std::array<Collector, 4>> mail_in;
    std::vector<std::deque<Frame>> mail_out;
    std::vector<size_t> mail_sent;
    std::vector<std::deque<Write>> writes;
    std::vector<uint32_t> active;
    std::vector<uint64_t> stamp;  // cycle + 1 for which a cell has been made active
    std::vector<uint64_t> wake;   // earliest entry of this cell in `alarms`
    using Alarm = std::pair<uint64_t, uint32_t>;
    std::priority_queue<Alarm, std::vector<Alarm>, std::greater<>> alarms;
    uint64_t evaluations = 0;
    uint64_t steps = 0;
};

// What of a State belongs to one cell and changes when it is clocked.
struct CellState {
    uint32_t cell;
    CellOut out;
    HostEnd host;
    std::array<Collector, 4> mail_in;
    std::deque<Frame> mail_out;
    size_t mail_sent;
    std::deque<Write> writes;
};

// Goes back over a few cycles: much less than a Snapshot when few cells are active in them.
struct Undo {
    struct Step {
        std::vector<uint32_t> cells;  // clocked for the first time
        std::vector<uint8_t> models;
    };
    std::vector<Step> steps;
    std::vector<CellState> cells;
    std::vector<bool> kept;
    uint64_t now, evaluations, busy;
    std::vector<uint32_t> active;
    std::vector<uint64_t> stamp, wake;
    decltype(State::alarms) alarms;
};

// A statistics message that begins on a ring port: its first four flits.
struct Header {
    std::array<uint64_t, 4> flits;
};

// Where Python reads how a run has ended, without a call for each.
struct Ended {
    uint64_t now = 0;
    uint64_t events = 0;  // number of them
    const Event* table = nullptr;
    const uint8_t* bytes = nullptr;
    uint64_t size = 0;  // of `bytes`
    uint64_t observations = 0;  // number of them
    const Observation* seen = nullptr;
};

struct Snapshot {
    State state;
    std::vector<uint8_t> models;
};

class Engine {
public:
    explicit Engine(const Strap* straps, uint32_t count) : m_straps(straps, straps + count), m_backend(m_straps), m_messages(count) {
        m_state.out.resize(count);
        m_state.faults.resize(count);
        m_state.hosts.resize(count);
        m_state.mail_in.resize(count);
        m_state.mail_out.resize(count);
        m_state.mail_sent.resize(count);
        m_state.writes.resize(count);
        m_state.stamp.resize(count);
        m_state.wake.assign(count, UINT64_MAX);
        m_in.resize(count);
        for (uint32_t i = 0; i < count; ++i) {
            m_backend.read(i, m_state.out[i]);
            activate(i, 0);
        }
    }

    uint32_t size() const { return m_straps.size(); }
    uint64_t now() const { return m_state.now; }
    State& state() { return m_state; }
    std::vector<Event>& events() { return m_events; }
    std::vector<uint8_t>& bytes() { return m_bytes; }
    std::vector<Change>& changes() { return m_changes; }

    // From now on every run notes how the wires change.
    void watch() { m_watching = true; }

    // Report it when a register changes in the bits of `mask`; peek would read it so from the reported cycle on.
    void watch_register(uint32_t cell, uint8_t address, uint32_t mask, bool on) {
        if (on) m_watchpoints.add_register(cell, address, mask, peek(cell, address));
        else m_watchpoints.remove_register(cell, address, mask);
    }

    // The last statistics message of each ring port, of those that began at cycle `since` or later.
    const std::vector<Message>& messages(uint64_t since) { return m_messages.recent(since); }

    void set_skipping(bool on) { m_skipping = on && Backend::CAN_SKIP; }

    void set_faults(uint32_t cell, const Faults& faults) {
        m_state.faults[cell] = faults;
        m_backend.set_faults(cell, faults);
        activate(cell, m_state.now);
    }

    void send_mail(uint32_t cell, Frame frame) {
        if (m_state.mail_out[cell].empty()) alarm(cell, frame.at);
        m_state.mail_out[cell].push_back(std::move(frame));
    }

    void send_host(uint32_t cell, Frame frame) {
        m_state.hosts[cell].send(std::move(frame));
        alarm(cell, m_state.hosts[cell].wake_at(m_state.now));
    }

    void poke(uint32_t cell, uint8_t address, uint32_t value) {
        m_state.writes[cell].push_back({address, value});
        activate(cell, m_state.now);
    }

    uint32_t peek(uint32_t cell, uint8_t address) { return m_backend.peek(cell, address); }

    Snapshot* save() {
        auto* snapshot = new Snapshot{m_state, {}};
        m_backend.save(snapshot->models);
        return snapshot;
    }

    void restore(const Snapshot& snapshot) {
        m_state = snapshot.state;
        m_backend.restore(snapshot.models);
        for (uint32_t i = 0; i < size(); ++i) m_backend.set_faults(i, m_state.faults[i]);
        m_events.clear();
        m_bytes.clear();
    }

    // Statistics messages that begin on the ring ports in the next `cycles` cycles, as far as their first four flits are
    // there within them; in order of cycle, cell and port. No frame, no wire and no cycle of the run differs for it.
    const std::vector<Header>& headers(uint64_t cycles) {
        m_headers.clear();
        m_events.clear();
        m_bytes.clear();
        if (still(cycles)) return m_headers;
        Undo undo = begin_undo();
        struct Open {
            uint32_t cell;
            bool second;
            size_t flits;
            Header header;
        };
        std::vector<Open> open;
        const bool watching = std::exchange(m_watching, false);
        Watchpoints watchpoints = std::exchange(m_watchpoints, {});
        for (uint64_t c = 0; c < cycles; ++c) {
            wake_up();
            if (m_state.active.empty()) {
                ++m_state.now;
            } else {
                keep(undo);
                step();
            }
            for (uint32_t cell = 0; cell < size(); ++cell) {
                const CellOut& out = m_state.out[cell];
                for (const bool second : {false, true}) {
                    const Link& link = second ? out.p2 : out.p1;
                    if ((link.ctl & (RINGHIL_LINK_VALID | RINGHIL_LINK_DATA)) != RINGHIL_LINK_VALID) continue;
                    if (link.ctl & RINGHIL_LINK_SOF && link.data >> 56 == RINGHIL_KIND_STATISTICS)
                        open.push_back({cell, second, 0, {}});
                    for (Open& o : open) {
                        if (o.cell == cell && o.second == second && o.flits < 4) o.header.flits[o.flits++] = link.data;
                    }
                }
            }
        }
        m_watching = watching;
        m_watchpoints = std::move(watchpoints);
        for (const Open& o : open) {
            if (o.flits == 4) m_headers.push_back(o.header);
        }
        go_back(undo);
        return m_headers;
    }

    // Of the last run.
    const Ended& ended() {
        m_ended = {m_state.now, m_events.size(), m_events.data(), m_bytes.data(), m_bytes.size(),
                   m_watchpoints.seen().size(), m_watchpoints.seen().data()};
        return m_ended;
    }
    const Ended* where_ended() const { return &m_ended; }

    // Runs to cycle `until`, or `lookahead` cycles past the first event. Returns the cycle reached.
    uint64_t run(uint64_t until, uint64_t lookahead) {
        m_events.clear();
        m_bytes.clear();
        m_changes.clear();
        m_watchpoints.forget_seen();
        uint64_t limit = until;
        bool seen = false;
        while (m_state.now < limit) {
            wake_up();
            if (m_state.active.empty()) {
                const uint64_t next = m_state.alarms.empty() ? UINT64_MAX : m_state.alarms.top().first;
                m_state.now = std::min(next, limit);
                continue;
            }
            step();
            if (!seen && !m_events.empty()) {
                seen = true;
                const uint64_t first = m_events.front().cycle;
                if (first < limit) limit = first + std::min(lookahead, limit - first);
            }
        }
        return m_state.now;
    }

    // Runs exactly `cycles` cycles and writes down every wire after each: per cycle and cell port 1, port 2, CPU,
    // other card.
    void trace(uint64_t cycles, uint64_t* data, uint8_t* ctl) {
        m_events.clear();
        m_bytes.clear();
        m_watchpoints.forget_seen();
        for (uint64_t c = 0; c < cycles; ++c) {
            wake_up();
            if (m_state.active.empty()) ++m_state.now;
            else step();
            for (const CellOut& out : m_state.out) {
                for (const Link* link : {&out.p1, &out.p2, &out.host, &out.boundary}) {
                    *data++ = link->data;
                    *ctl++ = link->ctl;
                }
            }
        }
    }

private:
    // Nothing will move in the next `cycles` cycles, and nothing is on a wire.
    bool still(uint64_t cycles) const {
        if (!m_skipping || !m_state.active.empty()) return false;
        if (!m_state.alarms.empty() && m_state.alarms.top().first < m_state.now + cycles) return false;
        for (const CellOut& out : m_state.out) {
            if ((out.p1.ctl | out.p2.ctl) & RINGHIL_LINK_VALID) return false;
        }
        return true;
    }

    Undo begin_undo() const {
        Undo undo;
        undo.kept.resize(size());
        undo.now = m_state.now;
        undo.evaluations = m_state.evaluations;
        undo.busy = m_state.steps;
        undo.active = m_state.active;
        undo.stamp = m_state.stamp;
        undo.wake = m_state.wake;
        undo.alarms = m_state.alarms;
        return undo;
    }

    // The cells that are about to be clocked, unless they have been kept before.
    void keep(Undo& undo) {
        Undo::Step first;
        for (const uint32_t cell : m_state.active) {
            if (undo.kept[cell]) continue;
            undo.kept[cell] = true;
            first.cells.push_back(cell);
            const State& s = m_state;
            undo.cells.push_back({cell, s.out[cell], s.hosts[cell], s.mail_in[cell], s.mail_out[cell],
                                  s.mail_sent[cell], s.writes[cell]});
        }
        if (first.cells.empty()) return;
        m_backend.save(first.cells, first.models);
        undo.steps.push_back(std::move(first));
    }

    void go_back(Undo& undo) {
        for (auto step = undo.steps.rbegin(); step != undo.steps.rend(); ++step)
            m_backend.restore(step->cells, step->models);
        for (CellState& kept : undo.cells) {
            const uint32_t cell = kept.cell;
            m_state.out[cell] = kept.out;
            m_state.hosts[cell] = std::move(kept.host);
            m_state.mail_in[cell] = std::move(kept.mail_in);
            m_state.mail_out[cell] = std::move(kept.mail_out);
            m_state.mail_sent[cell] = kept.mail_sent;
            m_state.writes[cell] = std::move(kept.writes);
        }
        m_state.now = undo.now;
        m_state.evaluations = undo.evaluations;
        m_state.steps = undo.busy;
        m_state.active = std::move(undo.active);
        m_state.stamp = std::move(undo.stamp);
        m_state.wake = std::move(undo.wake);
        m_state.alarms = std::move(undo.alarms);
        m_events.clear();
        m_bytes.clear();
    }

    void activate(uint32_t cell, uint64_t cycle) {
        if (m_state.stamp[cell] == cycle + 1) return;
        m_state.stamp[cell] = cycle + 1;
        m_state.active.push_back(cell);
    }

    void alarm(uint32_t cell, uint64_t at) {
        if (at >= m_state.wake[cell]) return;
        m_state.wake[cell] = at;
        m_state.alarms.emplace(at, cell);
    }

    void wake_up() {
        if (!m_skipping) {
            for (uint32_t i = 0; i < size(); ++i) activate(i, m_state.now);
        }
        while (!m_state.alarms.empty() && m_state.alarms.top().first <= m_state.now) {
            const auto [at, cell] = m_state.alarms.top();
            m_state.alarms.pop();
            if (m_state.wake[cell] == at) m_state.wake[cell] = UINT64_MAX;
            activate(cell, m_state.now);
        }
    }

    void step() {
        const uint64_t now = m_state.now;
        m_running.swap(m_state.active);
        m_state.active.clear();
        // Order decides only in which order events of one cycle are told: by cell, always.
        std::sort(m_running.begin(), m_running.end());
        for (const uint32_t cell : m_running) gather(cell, now);
        m_backend.step(now, m_running, m_in);
        m_state.evaluations += m_running.size();
        ++m_state.steps;
        for (const uint32_t cell : m_running) settle(cell, now);
        if (m_watchpoints.any()) m_watchpoints.look(now + 1, m_running, m_backend);
        m_state.now = now + 1;
    }

    // Inputs of a cell. Every active cell's are gathered before any cell is clocked.
    void gather(uint32_t cell, uint64_t now) {
        CellIn& in = m_in[cell];
        const Strap& strap = m_straps[cell];
        in.p1 = m_state.out[strap.before].p2;
        in.p2 = m_state.out[strap.after].p1;
        in.host = m_state.hosts[cell].out();
        in.boundary = strap.peer == NOBODY ? Link{} : m_state.out[strap.peer].boundary;
        in.mtx_ctl = 0;
        in.mtx_data = 0;
        auto& mail = m_state.mail_out[cell];
        if (!mail.empty() && mail.front().at <= now && m_state.out[cell].mtx_ready) {
            const Frame& frame = mail.front();
            size_t& sent = m_state.mail_sent[cell];
            const bool last = sent + 1 == frame.flits.size();
            in.mtx_data = frame.flits[sent];
            in.mtx_ctl = MTX_VALID | (sent ? 0 : MTX_SOF) | (last ? MTX_EOF : 0) | frame.port << 3;
            sent = last ? 0 : sent + 1;
            if (last) mail.pop_front();
        }
        auto& writes = m_state.writes[cell];
        in.reg_we = !writes.empty();
        if (in.reg_we) {
            in.reg_addr = writes.front().address;
            in.reg_wdata = writes.front().value;
            writes.pop_front();
        }
    }

    // What the cell has put out, and who must act on it.
    void settle(uint32_t cell, uint64_t now) {
        const Strap& strap = m_straps[cell];
        HostEnd& host = m_state.hosts[cell];
        CellOut& out = m_state.out[cell];
        const Link old_p1 = out.p1, old_p2 = out.p2, old_host = out.host, old_boundary = out.boundary;

        // The CPU's end is clocked with its cell, on what the cell had put out before.
        const int channel = host.step(now, out.host);
        if (channel >= 0) report(now + 1, cell, TO_CPU, channel, host.collector(channel));

        m_backend.read(cell, out);
        m_messages.look(now + 1, cell, out);
        if (m_watching) {
            note(now + 1, cell, 0, old_p1, out.p1);
            note(now + 1, cell, 1, old_p2, out.p2);
            note(now + 1, cell, 2, old_host, out.host);
            note(now + 1, cell, 3, old_boundary, out.boundary);
        }
        if (carries(out.p1) || level_differs(out.p1, old_p1)) activate(strap.before, now + 1);
        if (carries(out.p2) || level_differs(out.p2, old_p2)) activate(strap.after, now + 1);
        if (strap.peer != NOBODY && (carries(out.boundary) || level_differs(out.boundary, old_boundary)))
            activate(strap.peer, now + 1);

        for (int port = 0; port < 4; ++port) {
            const uint8_t ctl = out.mrx_ctl[port];
            if (!(ctl & MRX_VALID)) continue;
            Collector& mail = m_state.mail_in[cell][port];
            if (mail.take(out.mrx_data[port], ctl & MRX_SOF, ctl & MRX_EOF, ctl & MRX_BAD))
                report(now + 1, cell, FROM_RING, port, mail);
        }

        const bool host_busy = carries(host.out()) || carries(out.host) || level_differs(out.host, old_host);
        if (!out.quiescent || host_busy || !m_state.writes[cell].empty() || out.wake_at <= now + 1) {
            activate(cell, now + 1);
            return;
        }
        uint64_t at = std::min(out.wake_at, host.wake_at(now + 1));
        const auto& mail = m_state.mail_out[cell];
        if (!mail.empty() && out.mtx_ready) at = std::min(at, std::max(mail.front().at, now + 1));
        if (at <= now + 1) activate(cell, now + 1);
        else if (at != UINT64_MAX) alarm(cell, at);
    }

    void note(uint64_t cycle, uint32_t cell, uint8_t port, const Link& old, const Link& link) {
        if (old.ctl != link.ctl || old.data != link.data)
            m_changes.push_back({cycle, link.data, cell, port, link.ctl, 0});
    }

    void report(uint64_t cycle, uint32_t cell, uint8_t kind, int port, const Collector& frame) {
        Event event{cycle, cell, kind, static_cast<uint8_t>(port), frame.bad, 0, m_bytes.size(), 0};
        event.length = frame.flits.size() * 8;
        m_bytes.resize(m_bytes.size() + event.length);
        uint8_t* to = m_bytes.data() + event.offset;
        for (const uint64_t flit : frame.flits) {
            for (int i = 0; i < 8; ++i) *to++ = static_cast<uint8_t>(flit >> (56 - 8 * i));
        }
        m_events.push_back(event);
    }

    std::vector<Strap> m_straps;
    Backend m_backend;
    State m_state;
    bool m_skipping = Backend::CAN_SKIP;
    std::vector<CellIn> m_in;
    std::vector<uint32_t> m_running;
    std::vector<Event> m_events;
    std::vector<uint8_t> m_bytes;
    bool m_watching = false;
    std::vector<Change> m_changes;
    std::vector<Header> m_headers;
    Watchpoints m_watchpoints;
    Messages m_messages;
    Ended m_ended;
};

static Frame make_frame(uint64_t at, uint8_t port, const uint8_t* bytes, uint64_t length) {
    Frame frame{at, port, std::vector<uint64_t>(length / 8)};
    for (uint64_t& flit : frame.flits) {
        for (int i = 0; i < 8; ++i) flit = flit << 8 | *bytes++;
    }
    return frame;
}

}  // namespace ringhil

using ringhil::Engine;
using ringhil::Snapshot;

#define RINGHIL_API extern "C" __attribute__((visibility("default")))

RINGHIL_API Engine* ringhil_create(const uint16_t* cards, const uint16_t* nodes, const uint16_t* sizes,
                                   const uint32_t* before, const uint32_t* after, const uint32_t* peer,
                                   uint32_t count) {
    std::vector<ringhil::Strap> straps(count);
    for (uint32_t i = 0; i < count; ++i)
        straps[i] = {static_cast<uint8_t>(cards[i]), nodes[i], sizes[i], before[i], after[i], peer[i]};
    return new Engine(straps.data(), count);
}
RINGHIL_API void ringhil_destroy(Engine* e) { delete e; }
RINGHIL_API void ringhil_set_skipping(Engine* e, int on) { e->set_skipping(on); }
RINGHIL_API uint64_t ringhil_now(const Engine* e) { return e->now(); }
RINGHIL_API void ringhil_run(Engine* e, uint64_t until, uint64_t lookahead) {
    e->run(until, lookahead);
    e->ended();
}
// Filled by ringhil_run and ringhil_trace; stays where it is as long as the engine is there.
RINGHIL_API const ringhil::Ended* ringhil_ended(Engine* e) { return e->where_ended(); }
RINGHIL_API uint64_t ringhil_headers(Engine* e, uint64_t cycles, const ringhil::Header** headers) {
    const auto& found = e->headers(cycles);
    *headers = found.data();
    return found.size();
}
RINGHIL_API void ringhil_trace(Engine* e, uint64_t cycles, uint64_t* data, uint8_t* ctl) {
    e->trace(cycles, data, ctl);
    e->ended();
}
RINGHIL_API uint64_t ringhil_events(Engine* e, const ringhil::Event** events, const uint8_t** bytes, uint64_t* size) {
    *events = e->events().data();
    *bytes = e->bytes().data();
    *size = e->bytes().size();
    return e->events().size();
}
RINGHIL_API void ringhil_watch(Engine* e) { e->watch(); }
RINGHIL_API uint64_t ringhil_changes(Engine* e, const ringhil::Change** changes) {
    *changes = e->changes().data();
    return e->changes().size();
}
RINGHIL_API void ringhil_watch_register(Engine* e, uint32_t cell, uint8_t address, uint32_t mask, int on) {
    e->watch_register(cell, address, mask, on);
}
RINGHIL_API uint64_t ringhil_messages(Engine* e, uint64_t since, const ringhil::Message** messages) {
    const auto& recent = e->messages(since);
    *messages = recent.data();
    return recent.size();
}
RINGHIL_API void ringhil_send_mail(Engine* e, uint32_t cell, uint64_t at, uint8_t port, const uint8_t* bytes,
                                   uint64_t length) {
    e->send_mail(cell, ringhil::make_frame(at, port, bytes, length));
}
// `lengths` frames lie one behind the other in `bytes`; each may begin at its own cycle `at`.
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
RINGHIL_API void ringhil_poke(Engine* e, uint32_t cell, uint8_t address, uint32_t value) {
    e->poke(cell, address, value);
}
RINGHIL_API uint32_t ringhil_peek(Engine* e, uint32_t cell, uint8_t address) { return e->peek(cell, address); }
RINGHIL_API Snapshot* ringhil_save(Engine* e) { return e->save(); }
RINGHIL_API void ringhil_restore(Engine* e, const Snapshot* s) { e->restore(*s); }
RINGHIL_API void ringhil_forget(Snapshot* s) { delete s; }
RINGHIL_API uint64_t ringhil_snapshot_bytes(const Snapshot* s) { return s->models.size(); }
RINGHIL_API void ringhil_counters(Engine* e, uint64_t* evaluations, uint64_t* steps) {
    *evaluations = e->state().evaluations;
    *steps = e->state().steps;
}
// What the firmware of a GPU that just died had not yet written.
RINGHIL_API void ringhil_forget_mail(Engine* e, uint32_t cell) {
    e->state().mail_out[cell].clear();
    e->state().mail_sent[cell] = 0;
}
