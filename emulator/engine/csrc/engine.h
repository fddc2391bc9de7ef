// The engine: cells, their wires, the CPU's ends, and time.
//
// A cycle: every active cell reads what its neighbours put on the wires before this cycle, then all of them are
// clocked, then their outputs are looked at to see who is active next. Active are: cells that are not quiescent,
// cells that something is coming to, cells whose time has come. With nobody active, time leaps.
//
// No globals: any number of engines live side by side. Not thread-safe within one engine.
#ifndef RINGHIL_ENGINE_H
#define RINGHIL_ENGINE_H

#include <string>

#ifdef RINGHIL_CARD
#include "card_backend.h"
#else
#include "cells_backend.h"
#endif
#include "host_end.h"
#include "messages.h"
#include "outside.h"
#include "schedule.h"
#include "watchpoints.h"
#include "wires.h"

namespace ringhil {

class Engine {
public:
    explicit Engine(const std::vector<Strap>& straps)
        : m_straps(straps), m_faults(straps.size()), m_backend(straps), m_wires(straps), m_schedule(straps.size()), m_sides(straps.size()), m_in(straps.size()),
          m_messages(straps.size()) {
        for (uint32_t i = 0; i < straps.size(); ++i) m_backend.read(i, m_wires[i]);
        m_schedule.activate_all(0);
    }

    // Of the last run or trace; stays where it is as long as the engine is there.
    const Ended* ended() const { return &m_ended; }

    void set_skipping(bool on) { m_skipping = on && Backend::CAN_SKIP; }

    // From cycle 0 on a cell is at the other end of a line; nothing, or why it can't be.
    const char* attach(uint32_t cell, int fd, uint8_t sequence, int patience) {
        return m_outside.attach(cell, m_straps[cell], fd, sequence, patience) ? nullptr : m_outside.why();
    }
    const std::vector<OutsideNode>& outside() { return m_outside.told(); }
    const std::vector<Difference>& differences() { return m_outside.take_differences(); }
    void recall(const Difference& difference) { m_outside.recall(difference); }

    void set_faults(uint32_t cell, const Faults& faults) {
        m_faults[cell] = faults;
        apply_faults(cell);
        m_schedule.activate(cell, m_now);
    }

    void draw_errors(uint32_t cell, const std::array<uint32_t, 4>& drawn) { m_backend.draw_errors(cell, drawn); }

    void send_mail(uint32_t cell, Frame frame) {
        Outbox& outbox = m_sides[cell].outbox;
        if (outbox.due() == UINT64_MAX) m_schedule.alarm(cell, frame.at);
        outbox.add(std::move(frame));
    }

    void forget_mail(uint32_t cell) { m_sides[cell].outbox.forget(); }

    void send_host(uint32_t cell, Frame frame) {
        HostEnd& host = m_sides[cell].host;
        host.send(std::move(frame));
        m_schedule.alarm(cell, host.wake_at(m_now));
    }

    void poke(uint32_t cell, uint8_t address, uint32_t value) {
        m_sides[cell].writes.push_back({address, value});
        m_schedule.activate(cell, m_now);
    }

#if VM_TRACE
    void show(uint32_t cell, const char* path) { m_backend.show(cell, m_now, path); }
#endif

    uint32_t peek(uint32_t cell, uint8_t address) {
        uint32_t value = m_backend.peek(cell, m_now, address);
        // Who is lost while it is read is lost in a cycle, as all others are: what is done before it stays as it is.
        if (!m_outside.peek(cell, m_now, address, value)) m_schedule.activate(cell, m_now);
        return value;
    }

    // From now on every run notes how the wires change.
    void watch_wires() { m_changes.noted = true; }

    // Report it when a register changes in the bits of `mask`; peek would read it so from the reported cycle on.
    void watch_register(uint32_t cell, uint8_t address, uint32_t mask, bool on) {
        if (on) m_watchpoints.add_register(cell, address, mask, peek(cell, address));
        else m_watchpoints.remove_register(cell, address, mask);
    }

    // The last statistics message of each ring port, of those that began at cycle `since` or later.
    const std::vector<Message>& messages(uint64_t since) { return m_messages.recent(since); }

    // Runs to cycle `until`, or `lookahead` cycles past the first event, or until a cell outside has been lost.
    void run(uint64_t until, uint64_t lookahead) {
        begin();
        uint64_t limit = until;
        bool seen = false;
        while (m_now < limit && m_ended.lost == m_lost) {
            wake_up();
            if (m_schedule.idle()) {
                m_now = std::min(m_schedule.next(), limit);
                continue;
            }
            step();
            if (!seen && !m_arrivals.events().empty()) {
                seen = true;
                const uint64_t first = m_arrivals.events().front().cycle;
                if (first < limit) limit = first + std::min(lookahead, limit - first);
            }
        }
        end();
    }

    // Runs exactly `cycles` cycles and writes down every wire after each: per cycle and cell port 1, port 2, CPU,
    // other card.
    void trace(uint64_t cycles, uint64_t* data, uint8_t* ctl) {
        begin();
        for (uint64_t c = 0; c < cycles; ++c) {
            wake_up();
            if (m_schedule.idle()) ++m_now;
            else step();
            for (const Links& out : m_wires.all()) {
                for (const Link* link : {&out.p1, &out.p2, &out.host, &out.boundary}) {
                    *data++ = link->data;
                    *ctl++ = link->ctl;
                }
            }
        }
        end();
    }

    // An assertion of the RTL has failed: the cycle, file:line.
    void stop(const std::string& place) { m_stopped_at = std::to_string(m_now) + " " + place; }
    const char* stopped_at() const { return m_stopped_at.c_str(); }

private:
    struct Write {
        uint8_t address;
        uint32_t value;
    };

    // What stands beside a cell: the CPU's end of its link, its mailbox, register writes that wait (one a cycle).
    struct Side {
        HostEnd host;
        std::array<Collector, 4> inbox;
        Outbox outbox;
        std::deque<Write> writes;
    };

    void begin() {
        m_arrivals.clear();
        m_changes.clear();
        m_watchpoints.forget_seen();
    }

    void end() {
        const auto tell = [](const auto& table, uint64_t& number, uint64_t& address) {
            number = table.size();
            address = reinterpret_cast<uintptr_t>(table.data());
        };
        m_ended.now = m_now;
        m_lost = m_ended.lost;
        m_ended.differences = m_outside.differences();
        tell(m_arrivals.events(), m_ended.events, m_ended.events_at);
        tell(m_arrivals.bytes(), m_ended.bytes, m_ended.bytes_at);
        tell(m_changes.all(), m_ended.changes, m_ended.changes_at);
        tell(m_watchpoints.seen(), m_ended.observations, m_ended.observations_at);
    }

    void wake_up() {
        if (!m_skipping) m_schedule.activate_all(m_now);
        m_schedule.wake_up(m_now);
    }

    void step() {
        const std::vector<uint32_t>& running = m_schedule.take();
        // Every active cell's inputs are gathered before any cell is clocked.
        for (const uint32_t cell : running) gather(cell);
        m_outside.step(m_now, running, m_in);
        m_backend.step(m_now, running, m_in);
        m_ended.evaluations += running.size();
        ++m_ended.busy_cycles;
        for (const uint32_t cell : running) settle(cell);
        ++m_now;
        if (m_watchpoints.any()) m_watchpoints.look(m_now, running, *this);
    }

    // A cell that has been lost is a GPU that has failed, whatever else is the matter with it.
    void apply_faults(uint32_t cell) {
        Faults faults = m_faults[cell];
        if (m_outside.lost(cell)) faults.node |= node_loop::DEAD;
        m_outside.set_faults(cell, faults);
        m_backend.set_faults(cell, faults);
    }

    void lose(uint32_t cell, uint64_t at) {
        ++m_ended.lost;
        apply_faults(cell);
        m_schedule.activate(cell, at);
    }

    void gather(uint32_t cell) {
        CellIn& in = m_in[cell];
        Side& side = m_sides[cell];
        m_wires.gather(cell, in);
        in.host = side.host.out();
        side.outbox.put(m_now, m_wires[cell].mtx_ready, in);
        in.reg_we = !side.writes.empty();
        if (in.reg_we) {
            in.reg_addr = side.writes.front().address;
            in.reg_wdata = side.writes.front().value;
            side.writes.pop_front();
        }
    }

    // What the cell has put out, and who must act on it in the next cycle.
    void settle(uint32_t cell) {
        const uint64_t next = m_now + 1;
        Side& side = m_sides[cell];
        CellOut& out = m_wires[cell];
        const Links old = out;

        // The CPU's end is clocked with its cell, on what the cell had put out before.
        const int channel = side.host.step(m_now, out.host);
        if (channel >= 0) m_arrivals.add(next, cell, TO_CPU, channel, side.host.collector(channel));

        m_backend.read(cell, out);
        if (m_outside.read(cell, m_now, out)) lose(cell, next);
        m_messages.look(next, cell, out);
        if (m_changes.noted) m_changes.compare(next, cell, old, out);
        m_wires.wake_neighbours(cell, old, [&](uint32_t neighbour) { m_schedule.activate(neighbour, next); });
        receive(cell, out);

        const bool host_busy = carries(side.host.out()) || Wires::matters(out.host, old.host);
        if (!out.quiescent || host_busy || !side.writes.empty() || out.wake_at <= next) {
            m_schedule.activate(cell, next);
            return;
        }
        uint64_t at = std::min(out.wake_at, side.host.wake_at(next));
        if (out.mtx_ready) at = std::min(at, side.outbox.due());
        if (at <= next) m_schedule.activate(cell, next);
        else if (at != UINT64_MAX) m_schedule.alarm(cell, at);
    }

    // Flits for the GPU's firmware.
    void receive(uint32_t cell, const CellOut& out) {
        for (int port = 0; port < 4; ++port) {
            const uint8_t ctl = out.mrx_ctl[port];
            if (!(ctl & MRX_VALID)) continue;
            Collector& mail = m_sides[cell].inbox[port];
            if (mail.take(out.mrx_data[port], ctl & MRX_SOF, ctl & MRX_EOF, ctl & MRX_BAD))
                m_arrivals.add(m_now + 1, cell, FROM_RING, port, mail);
        }
    }

    std::vector<Strap> m_straps;
    std::vector<Faults> m_faults;
    Backend m_backend;
    Outside m_outside;
    Wires m_wires;
    Schedule m_schedule;
    std::vector<Side> m_sides;
    std::vector<CellIn> m_in;
    uint64_t m_now = 0;
    uint64_t m_lost = 0;  // cells of which the last run told that they are
    bool m_skipping = Backend::CAN_SKIP;
    Arrivals m_arrivals;
    Changes m_changes;
    Watchpoints m_watchpoints;
    Messages m_messages;
    std::string m_stopped_at;
    Ended m_ended{};
};

}  // namespace ringhil

#endif
