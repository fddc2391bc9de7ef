// The last statistics message that each ring port has sent: its beginning, and when that was. Kept in every cycle, so
// that what goes round a ring can be seen at any time without the engine being run on.
#ifndef RINGHIL_LAST_MESSAGES_H
#define RINGHIL_LAST_MESSAGES_H

#include <vector>

#include "cell.h"
#include "layout.h"

namespace ringhil {

class Messages {
public:
    explicit Messages(uint32_t cells) : m_ports(2 * cells) {}

    // A cell has been clocked; what it puts out is on the wires from `cycle` on.
    void look(uint64_t cycle, uint32_t cell, const CellOut& out) {
        take(m_ports[2 * cell], cycle, out.p1);
        take(m_ports[2 * cell + 1], cycle, out.p2);
    }

    // Those that began at cycle `since` or later, as far as four flits of them are there; by cell and port.
    const std::vector<Message>& recent(uint64_t since) {
        m_recent.clear();
        for (const Port& port : m_ports) {
            if (port.whole && port.last.since >= since) m_recent.push_back(port.last);
        }
        return m_recent;
    }

private:
    static constexpr size_t HEADER_FLITS = std::tuple_size_v<decltype(Message::flits)>;

    struct Port {
        Message last{};  // of which four flits were there
        bool whole = false;
        Message begun{};
        size_t flits = HEADER_FLITS;  // of `begun`; all: nothing has begun
    };

    static void take(Port& port, uint64_t cycle, const Link& link) {
        if ((link.ctl & (RINGHIL_LINK_VALID | RINGHIL_LINK_DATA)) != RINGHIL_LINK_VALID) return;
        if (link.ctl & RINGHIL_LINK_SOF) {
            port.flits = link.data >> 56 == RINGHIL_KIND_STATISTICS ? 0 : HEADER_FLITS;
            port.begun.since = cycle;
        }
        if (port.flits == HEADER_FLITS) return;
        port.begun.flits[port.flits++] = link.data;
        if (port.flits < HEADER_FLITS) return;
        port.last = port.begun;
        port.whole = true;
    }

    std::vector<Port> m_ports;
    std::vector<Message> m_recent;
};

}  // namespace ringhil

#endif
