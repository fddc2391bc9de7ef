// Watchpoints: what somebody waits for in the hardware is reported when it happens, so that nobody has to ask in every
// cycle. Registers of single cells, and the statistics messages that are put on the rings. They only look: no wire, no
// frame and no cycle of a run differs for them.
#ifndef RINGHIL_WATCHPOINTS_H
#define RINGHIL_WATCHPOINTS_H

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "cell.h"

namespace ringhil {

// Kinds of Observation.
constexpr uint8_t REGISTER_CHANGED = 0;  // `place` is the register's address; mask and value
constexpr uint8_t MESSAGE_BEGUN = 1;     // `place` is the ring port, 0 or 1; since and flits

struct Observation {
    uint64_t cycle;  // from which on a register reads so, or the fourth flit is on the wire
    uint64_t since;  // the same of the first flit
    std::array<uint64_t, 4> flits;
    uint32_t cell;
    uint32_t mask;
    uint32_t value;  // of the register, masked
    uint8_t kind;
    uint8_t place;
    uint16_t reserved;
};
static_assert(sizeof(Observation) == 64);

class Watchpoints {
public:
    bool any() const { return m_messages || !m_registers.empty(); }
    const std::vector<Observation>& seen() const { return m_seen; }
    void forget_seen() { m_seen.clear(); }

    // `value` is what the register reads now. The same register and mask may be asked for several times.
    void add_register(uint32_t cell, uint8_t address, uint32_t mask, uint32_t value) {
        const auto at = place_of(cell, address, mask);
        if (at != m_registers.end() && at->is(cell, address, mask)) ++at->asked;
        else m_registers.insert(at, {cell, address, mask, value & mask, 1});
    }

    void remove_register(uint32_t cell, uint8_t address, uint32_t mask) {
        const auto at = place_of(cell, address, mask);
        if (at != m_registers.end() && at->is(cell, address, mask) && !--at->asked) m_registers.erase(at);
    }

    void add_messages() { ++m_messages; }
    void remove_messages() {
        if (m_messages && !--m_messages) m_begun.clear();
    }

    // After the cells `clocked` have been; `cycle` is the next one. The others read and put out what they did before.
    template <typename Backend>
    void look(uint64_t cycle, const std::vector<uint32_t>& clocked, const std::vector<CellOut>& out, Backend& backend) {
        for (Register& r : m_registers) {
            if (!std::binary_search(clocked.begin(), clocked.end(), r.cell)) continue;
            const uint32_t value = backend.peek(r.cell, r.address) & r.mask;
            if (value == std::exchange(r.value, value)) continue;
            m_seen.push_back({cycle, 0, {}, r.cell, r.mask, value, REGISTER_CHANGED, r.address, 0});
        }
        if (!m_messages) return;
        for (const uint32_t cell : clocked) {
            take(cycle, cell, 0, out[cell].p1);
            take(cycle, cell, 1, out[cell].p2);
        }
    }

private:
    struct Register {
        uint32_t cell;
        uint8_t address;
        uint32_t mask;
        uint32_t value;
        uint32_t asked;

        auto key() const { return std::make_tuple(cell, address, mask); }
        bool is(uint32_t c, uint8_t a, uint32_t m) const { return key() == std::make_tuple(c, a, m); }
    };

    struct Message {
        uint64_t since;
        uint32_t cell;
        uint8_t port;
        size_t count;
        std::array<uint64_t, 4> flits;
    };

    std::vector<Register>::iterator place_of(uint32_t cell, uint8_t address, uint32_t mask) {
        const auto before = [](const Register& r, const auto& key) { return r.key() < key; };
        return std::lower_bound(m_registers.begin(), m_registers.end(), std::make_tuple(cell, address, mask), before);
    }

    // One flit of the control channel: the next one of what has begun on this port, and perhaps a beginning.
    void take(uint64_t cycle, uint32_t cell, uint8_t port, const Link& link) {
        if ((link.ctl & (RINGHIL_LINK_VALID | RINGHIL_LINK_DATA)) != RINGHIL_LINK_VALID) return;
        if (link.ctl & RINGHIL_LINK_SOF && link.data >> 56 == RINGHIL_KIND_STATISTICS)
            m_begun.push_back({cycle, cell, port, 0, {}});
        std::erase_if(m_begun, [&](Message& m) {
            if (m.cell != cell || m.port != port) return false;
            m.flits[m.count++] = link.data;
            if (m.count < m.flits.size()) return false;
            m_seen.push_back({cycle, m.since, m.flits, cell, 0, 0, MESSAGE_BEGUN, port, 0});
            return true;
        });
    }

    std::vector<Register> m_registers;  // by cell, address and mask
    uint32_t m_messages = 0;            // how many have asked for them
    std::vector<Message> m_begun;
    std::vector<Observation> m_seen;
};

}  // namespace ringhil

#endif
