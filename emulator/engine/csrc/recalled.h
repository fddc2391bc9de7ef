// What nodes outside did otherwise than their twins, in a run before this one: it is put in again, in the same cycles.
// Twins are given the same inputs in both runs, so this is all that can't be computed.
#ifndef RINGHIL_RECALLED_H
#define RINGHIL_RECALLED_H

#include <map>
#include <tuple>

#include "layout.h"
#include "node_rows.h"

namespace ringhil {

class Recalled {
public:
    void add(const Difference& d) { m_values[{d.cell, d.cycle, d.place}] = d.value; }

    // `out`: what the twin puts out in this cycle.
    void outputs(uint32_t cell, uint64_t now, CellOut& out) const {
        auto at = m_values.lower_bound({cell, now, 0});
        const auto end = m_values.lower_bound({cell, now, REGISTER});
        if (at == end) return;
        OutRow row{};
        put_outputs(row, out);
        for (; at != end; ++at) {
            const size_t group = std::get<2>(at->first);
            if (group < node_loop::OUT_GROUPS) put(row, 8 * group, at->second);
        }
        take_outputs(row, out);
    }

    // `value`: what the twin's register reads.
    void read(uint32_t cell, uint64_t now, uint8_t address, uint32_t& value) const {
        const auto found = m_values.find({cell, now, REGISTER | address});
        if (found != m_values.end()) value = static_cast<uint32_t>(found->second);
    }

private:
    std::map<std::tuple<uint32_t, uint64_t, uint32_t>, uint64_t> m_values;  // by cell, cycle and place
};

}  // namespace ringhil

#endif
