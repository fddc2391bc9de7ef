// Time: which cells are clocked in a cycle, and when it is worth looking again.
//
// A cell is active in a cycle because somebody said so in the cycle before, or because its alarm has come. An alarm may
// be early, never late: a cell that is clocked for nothing changes nothing.
#ifndef RINGHIL_SCHEDULE_H
#define RINGHIL_SCHEDULE_H

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace ringhil {

class Schedule {
public:
    explicit Schedule(uint32_t cells) : m_activated(cells), m_alarm(cells, UINT64_MAX) {}

    bool idle() const { return m_active.empty(); }

    // Cycle of the next alarm.
    uint64_t next() const { return m_alarms.empty() ? UINT64_MAX : m_alarms.top().first; }

    // `cycle` is the one whose cells are being gathered: every caller of a cycle gives the same.
    void activate(uint32_t cell, uint64_t cycle) {
        if (m_activated[cell] == cycle + 1) return;
        m_activated[cell] = cycle + 1;
        m_active.push_back(cell);
    }

    void activate_all(uint64_t cycle) {
        for (uint32_t cell = 0; cell < m_alarm.size(); ++cell) activate(cell, cycle);
    }

    void alarm(uint32_t cell, uint64_t at) {
        if (at >= m_alarm[cell]) return;
        m_alarm[cell] = at;
        m_alarms.emplace(at, cell);
    }

    // Those whose alarm has come become active.
    void wake_up(uint64_t now) {
        while (next() <= now) {
            const auto [at, cell] = m_alarms.top();
            m_alarms.pop();
            if (m_alarm[cell] == at) m_alarm[cell] = UINT64_MAX;
            activate(cell, now);
        }
    }

    // The active cells, in order; with it the next cycle's begin to be gathered. Order decides only in which order
    // events of one cycle are told.
    const std::vector<uint32_t>& take() {
        m_taken.swap(m_active);
        m_active.clear();
        std::sort(m_taken.begin(), m_taken.end());
        return m_taken;
    }

private:
    using Alarm = std::pair<uint64_t, uint32_t>;
    std::vector<uint32_t> m_active, m_taken;
    std::vector<uint64_t> m_activated;  // cycle + 1 for which a cell has been made active
    std::vector<uint64_t> m_alarm;      // earliest entry of this cell in `m_alarms`
    std::priority_queue<Alarm, std::vector<Alarm>, std::greater<>> m_alarms;
};

}  // namespace ringhil

#endif
