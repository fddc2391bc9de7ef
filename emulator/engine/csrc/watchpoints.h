// Watchpoints: a register that somebody waits for is reported when it changes, so that nobody has to ask in every cycle.
// They only look: no wire, no frame and no cycle of a run differs for them.
#ifndef RINGHIL_WATCHPOINTS_H
#define RINGHIL_WATCHPOINTS_H

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "layout.h"

namespace ringhil {

class Watchpoints {
public:
    bool any() const { return !m_registers.empty(); }
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

    // After the cells `clocked` have been; `cycle` is the next one. The others read what they did before.
    template <typename Backend>
    void look(uint64_t cycle, const std::vector<uint32_t>& clocked, Backend& backend) {
        for (Register& r : m_registers) {
            if (!std::binary_search(clocked.begin(), clocked.end(), r.cell)) continue;
            const uint32_t value = backend.peek(r.cell, r.address) & r.mask;
            if (value != std::exchange(r.value, value)) m_seen.push_back({cycle, r.cell, r.mask, value, r.address});
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

    std::vector<Register>::iterator place_of(uint32_t cell, uint8_t address, uint32_t mask) {
        const auto before = [](const Register& r, const auto& key) { return r.key() < key; };
        return std::lower_bound(m_registers.begin(), m_registers.end(), std::make_tuple(cell, address, mask), before);
    }

    std::vector<Register> m_registers;  // by cell, address and mask
    std::vector<Observation> m_seen;
};

}  // namespace ringhil

#endif
