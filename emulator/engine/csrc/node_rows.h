// Inputs and outputs of a cell as rows of bytes, and what differs in them: protocol/line/node_loop.py.
#ifndef RINGHIL_NODE_ROWS_H
#define RINGHIL_NODE_ROWS_H

#include <array>
#include <cstring>
#include <vector>

#include "cell.h"
#include "node_loop.h"

namespace ringhil {

template <size_t GROUPS>
using Row = std::array<uint8_t, 8 * GROUPS>;
using InRow = Row<node_loop::IN_GROUPS>;
using OutRow = Row<node_loop::OUT_GROUPS>;

// As in memory of a little-endian machine, like all of the engine.
template <typename R, typename T>
void put(R& row, size_t place, T value) {
    std::memcpy(row.data() + place, &value, sizeof value);
}
template <typename T, typename R>
T get(const R& row, size_t place) {
    T value;
    std::memcpy(&value, row.data() + place, sizeof value);
    return value;
}

inline void put_straps(InRow& row, const Strap& strap) {
    put(row, node_loop::IN_CARD_ID, strap.card);
    put(row, node_loop::IN_NODE_ID, strap.node);
    put(row, node_loop::IN_RING_SIZE, strap.ring_size);
}

inline void put_faults(InRow& row, const Faults& f) {
    put(row, node_loop::IN_FAULT, f.node);
    put(row, node_loop::IN_LINK_FAULT, f.link);
    put(row, node_loop::IN_BER_PORT1, f.ber);
    put(row, node_loop::IN_LINK_DELAY, f.delay);
}

inline void put_links(InRow& row, const Links& in) {
    using namespace node_loop;
    put(row, IN_P1_DATA, in.p1.data);
    put(row, IN_P1_CTL, in.p1.ctl);
    put(row, IN_P2_DATA, in.p2.data);
    put(row, IN_P2_CTL, in.p2.ctl);
    put(row, IN_HOST_DATA, in.host.data);
    put(row, IN_HOST_CTL, in.host.ctl);
    put(row, IN_BOUNDARY_DATA, in.boundary.data);
    put(row, IN_BOUNDARY_CTL, in.boundary.ctl);
}

inline void take_outputs(const OutRow& row, CellOut& out) {
    using namespace node_loop;
    out.p1 = {get<uint64_t>(row, OUT_P1_DATA), row[OUT_P1_CTL]};
    out.p2 = {get<uint64_t>(row, OUT_P2_DATA), row[OUT_P2_CTL]};
    out.host = {get<uint64_t>(row, OUT_HOST_DATA), row[OUT_HOST_CTL]};
    out.boundary = {get<uint64_t>(row, OUT_BOUNDARY_DATA), row[OUT_BOUNDARY_CTL]};
    out.mrx_data = get<decltype(out.mrx_data)>(row, OUT_MRX0_DATA);
    for (size_t i = 0; i < out.mrx_ctl.size(); ++i) out.mrx_ctl[i] = row[OUT_MRX_CTL + i / 2] >> 4 * (i % 2) & 0xF;
    out.mtx_ready = row[OUT_MTX_READY];
    out.quiescent = row[OUT_QUIESCENT];
    out.wake_at = get<uint64_t>(row, OUT_WAKE_AT);
}

// The register that is read with them stays as it is in the row.
inline void put_outputs(OutRow& row, const CellOut& out) {
    using namespace node_loop;
    put(row, OUT_P1_DATA, out.p1.data);
    put(row, OUT_P1_CTL, out.p1.ctl);
    put(row, OUT_P2_DATA, out.p2.data);
    put(row, OUT_P2_CTL, out.p2.ctl);
    put(row, OUT_HOST_DATA, out.host.data);
    put(row, OUT_HOST_CTL, out.host.ctl);
    put(row, OUT_BOUNDARY_DATA, out.boundary.data);
    put(row, OUT_BOUNDARY_CTL, out.boundary.ctl);
    put(row, OUT_MRX0_DATA, out.mrx_data);
    for (size_t i = 0; i < out.mrx_ctl.size(); i += 2)
        put<OutRow, uint8_t>(row, OUT_MRX_CTL + i / 2, out.mrx_ctl[i] | out.mrx_ctl[i + 1] << 4);
    put(row, OUT_MTX_READY, out.mtx_ready);
    put(row, OUT_QUIESCENT, out.quiescent);
    put(row, OUT_WAKE_AT, out.wake_at);
}

// What differs between two rows, as it travels.
template <typename R>
void write_changes(const R& old, const R& row, std::vector<uint8_t>& to) {
    to.assign(2, 0);
    for (size_t group = 0; group < row.size() / 8; ++group) {
        const uint8_t *was = old.data() + 8 * group, *is = row.data() + 8 * group;
        if (!std::memcmp(was, is, 8)) continue;
        to[group < 8] |= 1 << group % 8;
        const size_t bytes = to.size();
        to.push_back(0);
        for (size_t i = 0; i < 8; ++i) {
            if (was[i] == is[i]) continue;
            to[bytes] |= 1 << i;
            to.push_back(is[i]);
        }
    }
}

// Puts it into a row; false: it doesn't fit.
template <typename R>
bool read_changes(const uint8_t* from, size_t length, R& row) {
    if (length < 2) return false;
    const uint8_t* const end = from + length;
    const uint32_t groups = from[0] << 8 | from[1];
    from += 2;
    if (groups >> row.size() / 8) return false;
    for (size_t group = 0; group < row.size() / 8; ++group) {
        if (!(groups >> group & 1)) continue;
        if (from == end) return false;
        const uint8_t bytes = *from++;
        for (size_t i = 0; i < 8; ++i) {
            if (!(bytes >> i & 1)) continue;
            if (from == end) return false;
            row[8 * group + i] = *from++;
        }
    }
    return from == end;
}

}  // namespace ringhil

#endif
