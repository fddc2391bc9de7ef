// Cells whose hardware is outside, each on a line of its own. Only cycles in which a cell is active are asked of it.
//
// Its twin in this process is clocked beside it. When the line is gone the twin goes on as a GPU that has just failed, so
// its bypass switch does what the switch of a card does with a dead board. As long as the line is there, what the two put
// out is compared; what the node does otherwise counts, and is told.
#ifndef RINGHIL_OUTSIDE_H
#define RINGHIL_OUTSIDE_H

#include <algorithm>
#include <memory>

#include "layout.h"
#include "node_line.h"
#include "node_rows.h"
#include "recalled.h"

namespace ringhil {

class Outside {
public:
    // From now on this cell is at the other end of a line. False: it doesn't answer as it should, see `why`.
    bool attach(uint32_t cell, const Strap& strap, int fd, uint8_t sequence, int patience) {
        auto node = std::make_unique<Node>(cell, fd, sequence, patience);
        put_straps(node->next, strap);
        put_links(node->next, reset_links(strap));
        node->ask(node_loop::RESET);
        const bool there = node->take_answer();
        m_why = node->line.gone();
        if (there) m_nodes.push_back(std::move(node));
        return there;
    }
    const char* why() const { return m_why.c_str(); }

    // As Python reads it; by the order in which they were attached.
    const std::vector<OutsideNode>& told() {
        m_told.clear();
        for (const auto& node : m_nodes) {
            OutsideNode row = node->told;
            row.sent = node->line.sent();
            row.received = node->line.received();
            row.why_at = reinterpret_cast<uintptr_t>(node->line.gone().c_str());
            m_told.push_back(row);
        }
        return m_told;
    }

    // Where nodes did otherwise than their twins, since the last call.
    const std::vector<Difference>& take_differences() {
        m_taken.swap(m_differences);
        m_differences.clear();
        return m_taken;
    }
    size_t differences() const { return m_differences.size(); }

    // From cycle 0 on a cell does what a node outside did then, of which only that is known which its twin doesn't do.
    void recall(const Difference& difference) {
        m_recalled.add(difference);
        m_recalls = true;
    }

    // Whether a cell is in this process alone: never attached, or lost.
    bool here(uint32_t cell) const {
        const Node* node = find(cell);
        return !node || node->told.lost;
    }
    bool lost(uint32_t cell) const {
        const Node* node = find(cell);
        return node && node->told.lost;
    }

    void set_faults(uint32_t cell, const Faults& faults) {
        if (Node* node = find(cell)) put_faults(node->next, faults);
    }

    // Have those clocked that are among the active cells. Their answers are awaited in `read`, so that several lines and
    // this process work at the same time.
    void step(uint64_t now, const std::vector<uint32_t>& active, const std::vector<CellIn>& in) {
        for (const auto& node : m_nodes) {
            if (!node->told.lost && std::binary_search(active.begin(), active.end(), node->told.cell))
                node->step(now, in[node->told.cell]);
        }
    }

    // `out`: what the twin puts out. True: the cell has been lost now, and that is what counts.
    bool read(uint32_t cell, uint64_t now, CellOut& out) {
        if (m_recalls) m_recalled.outputs(cell, now, out);
        if (here(cell)) return false;
        Node* node = find(cell);
        if (!node->take_answer()) return node->lose(now);
        ++node->told.steps;
        OutRow twin = node->out;
        put_outputs(twin, out);
        for (size_t group = 0; group < node_loop::OUT_GROUPS; ++group) {
            const auto there = get<uint64_t>(node->out, 8 * group);
            if (there != get<uint64_t>(twin, 8 * group)) differs(*node, now, group, there);
        }
        take_outputs(node->out, out);
        return false;
    }

    // `value`: what the twin's register reads. False: that counts, for the line is gone, and the cell is lost in the
    // next cycle in which it is clocked.
    bool peek(uint32_t cell, uint64_t now, uint8_t address, uint32_t& value) {
        if (m_recalls) m_recalled.read(cell, now, address, value);
        if (here(cell)) return true;
        Node* node = find(cell);
        if (!node->line.gone().empty()) return false;
        node->next[node_loop::IN_REG_ADDR] = address;
        // One that follows time is read as of this cycle, and not with each answer from now on.
        if (address >= FIRST_LIVE && address <= LAST_LIVE) put(node->next, node_loop::IN_NOW, now);
        else node->address = address;
        if (node->next != node->sent) {
            node->ask(node_loop::LOOK);
            if (!node->take_answer()) return false;
        }
        const auto there = get<uint32_t>(node->out, node_loop::OUT_REG_RDATA);
        if (there != value) differs(*node, now, REGISTER | address, there);
        value = there;
        return true;
    }

private:
    struct Node {
        Node(uint32_t cell, int fd, uint8_t sequence, int patience) : line(fd, sequence, patience) {
            told.cell = cell;
        }

        NodeLine line;
        OutsideNode told{};
        InRow next{}, sent{};  // inputs as they are to be, and as they are there
        OutRow out{};
        uint8_t address = 0;  // of the register that was read last: it comes with each answer
        uint64_t differed = 0;  // cycle in which it did otherwise last, if it ever did
        std::vector<uint8_t> changes;

        void ask(uint8_t type) {
            if (type == node_loop::STEP)
                put(sent, node_loop::IN_NOW, get<uint64_t>(sent, node_loop::IN_NOW) + 1);
            write_changes(sent, next, changes);
            sent = next;
            line.ask(type, changes);
        }

        void step(uint64_t now, const CellIn& in) {
            using namespace node_loop;
            put(next, IN_NOW, now);
            put_links(next, in);
            put(next, IN_MTX_DATA, in.mtx_data);
            put(next, IN_MTX_CTL, in.mtx_ctl);
            put(next, IN_REG_WE, in.reg_we);
            put(next, IN_REG_ADDR, in.reg_we ? in.reg_addr : address);
            put(next, IN_REG_WDATA, in.reg_wdata);
            ask(STEP);
        }

        bool take_answer() {
            const uint8_t* body = nullptr;
            size_t length = 0;
            if (!line.answer(body, length)) return false;
            if (read_changes(body, length, out)) return true;
            line.give_up("answers with outputs that it doesn't have");
            return false;
        }

        bool lose(uint64_t now) {
            told.lost = 1;
            told.lost_at = now;
            return true;
        }
    };

    void differs(Node& node, uint64_t now, uint32_t place, uint64_t there) {
        if (!node.told.differing) node.told.first_differing = now;
        if (!node.told.differing || node.differed != now) ++node.told.differing;
        node.differed = now;
        m_differences.push_back({now, there, node.told.cell, place});
    }

    Node* find(uint32_t cell) const {
        for (const auto& node : m_nodes)
            if (node->told.cell == cell) return node.get();
        return nullptr;
    }

    std::vector<std::unique_ptr<Node>> m_nodes;
    std::vector<OutsideNode> m_told;
    std::vector<Difference> m_differences, m_taken;
    Recalled m_recalled;
    bool m_recalls = false;
    std::string m_why;
};

}  // namespace ringhil

#endif
