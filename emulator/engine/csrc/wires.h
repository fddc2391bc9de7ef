// Wires between cells: what each has put out, what its neighbours get of it, and whom it wakes.
#ifndef RINGHIL_WIRES_H
#define RINGHIL_WIRES_H

#include "cell.h"
#include "layout.h"

namespace ringhil {

class Wires {
public:
    explicit Wires(const std::vector<Strap>& straps) : m_straps(straps), m_out(straps.size()) {}

    CellOut& operator[](uint32_t cell) { return m_out[cell]; }
    const std::vector<CellOut>& all() const { return m_out; }

    // What comes to a cell from other cells.
    void gather(uint32_t cell, CellIn& in) const {
        const Strap& strap = m_straps[cell];
        in.p1 = m_out[strap.before].p2;
        in.p2 = m_out[strap.after].p1;
        in.boundary = strap.peer == NOBODY ? Link{} : m_out[strap.peer].boundary;
    }

    // Calls `wake` with each neighbour that has to see what the cell puts out now; `old` is what it did before.
    template <typename Wake>
    void wake_neighbours(uint32_t cell, const Links& old, Wake wake) const {
        const Strap& strap = m_straps[cell];
        const Links& out = m_out[cell];
        if (matters(out.p1, old.p1)) wake(strap.before);
        if (matters(out.p2, old.p2)) wake(strap.after);
        if (strap.peer != NOBODY && matters(out.boundary, old.boundary)) wake(strap.peer);
    }

    static bool matters(const Link& link, const Link& old) { return carries(link) || level_differs(link, old); }

private:
    std::vector<Strap> m_straps;
    std::vector<CellOut> m_out;
};

// How the wires changed in a run, in order of time.
class Changes {
public:
    bool noted = false;  // from now on

    const std::vector<Change>& all() const { return m_changes; }
    void clear() { m_changes.clear(); }

    void compare(uint64_t cycle, uint32_t cell, const Links& old, const Links& out) {
        compare(cycle, cell, 0, old.p1, out.p1);
        compare(cycle, cell, 1, old.p2, out.p2);
        compare(cycle, cell, 2, old.host, out.host);
        compare(cycle, cell, 3, old.boundary, out.boundary);
    }

private:
    void compare(uint64_t cycle, uint32_t cell, uint8_t port, const Link& old, const Link& link) {
        if (old.ctl != link.ctl || old.data != link.data)
            m_changes.push_back({cycle, link.data, cell, port, link.ctl, 0});
    }

    std::vector<Change> m_changes;
};

}  // namespace ringhil

#endif
