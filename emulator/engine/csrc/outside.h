// Cells whose hardware is outside, each on a line of its own. Only cycles in which a cell is active are asked of it.
//
// Its twin in this process is clocked beside it. When the line is gone the twin goes on as a GPU that has just failed, so
// its bypass switch does what the switch of a card does with a dead board. As long as the line is there, what the two put
// out is compared.
#ifndef RINGHIL_OUTSIDE_H
#define RINGHIL_OUTSIDE_H

#include <algorithm>
#include <memory>

#include "layout.h"
#include "node_line.h"
#include "node_rows.h"

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
        if (here(cell)) return false;
        Node* node = find(cell);
        if (!node->take_answer()) return node->lose(now);
        CellOut there;
        take_outputs(node->out, there);
        ++node->told.steps;
        if (differs(there, out) && !node->told.differing++) node->told.first_differing = now;
        out = there;
        return false;
    }

    // A register of a cell that isn't here. False: the cell has been lost now.
    bool peek(uint32_t cell, uint64_t now, uint8_t address, uint32_t& value) {
        Node* node = find(cell);
        node->next[node_loop::IN_REG_ADDR] = node->address = address;
        if (node->next != node->sent) {
            node->ask(node_loop::LOOK);
            if (!node->take_answer()) return !node->lose(now);
        }
        value = get<uint32_t>(node->out, node_loop::OUT_REG_RDATA);
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

    static bool differs(const Link& a, const Link& b) { return a.data != b.data || a.ctl != b.ctl; }
    static bool differs(const CellOut& a, const CellOut& b) {
        return differs(a.p1, b.p1) || differs(a.p2, b.p2) || differs(a.host, b.host) || differs(a.boundary, b.boundary)
            || a.mrx_data != b.mrx_data || a.mrx_ctl != b.mrx_ctl || a.mtx_ready != b.mtx_ready
            || a.quiescent != b.quiescent || a.wake_at != b.wake_at;
    }

    Node* find(uint32_t cell) const {
        for (const auto& node : m_nodes)
            if (node->told.cell == cell) return node.get();
        return nullptr;
    }

    std::vector<std::unique_ptr<Node>> m_nodes;
    std::vector<OutsideNode> m_told;
    std::string m_why;
};

}  // namespace ringhil

#endif
