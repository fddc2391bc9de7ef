// What goes into a cell and comes out of it in one cycle. The engine sees cells only through these; a backend
// carries them to and from the Verilated model.
#ifndef RINGHIL_CELL_H
#define RINGHIL_CELL_H

#include <array>
#include <cstdint>
#include <vector>

#include "ringhil_wire.h"

namespace ringhil {

// One direction of a link: a flit and its control bits (RINGHIL_LINK_*).
struct Link {
    uint64_t data = 0;
    uint8_t ctl = 0;
};

// Something that a receiver must see at once, whether or not anything else goes on.
inline bool carries(const Link& link) {
    return link.ctl & (RINGHIL_LINK_VALID | RINGHIL_LINK_CREDIT);
}

// A change of state of the link, as opposed to traffic on it.
inline bool level_differs(const Link& a, const Link& b) {
    return (a.ctl ^ b.ctl) & (RINGHIL_LINK_UP | RINGHIL_LINK_FAULT);
}

constexpr uint32_t NOBODY = UINT32_MAX;

// Straps: constant after reset.
struct Strap {
    uint8_t card = 0;
    uint16_t node = 0;
    uint16_t ring_size = 0;
    uint32_t before = 0;  // cell whose port 2 is wired to this one's port 1
    uint32_t after = 0;   // cell whose port 1 is wired to this one's port 2
    uint32_t peer = NOBODY;  // cell at the other end of the boundary port
};

struct Faults {
    uint16_t node = 0;
    uint8_t link = 0;
    std::array<uint16_t, 4> ber{};  // port 1, port 2, CPU, other card
    std::array<uint8_t, 4> delay{};
};

constexpr uint8_t MTX_VALID = 1, MTX_SOF = 2, MTX_EOF = 4;  // then 2 bits of port
constexpr uint8_t MRX_VALID = 1, MRX_SOF = 2, MRX_EOF = 4, MRX_BAD = 8;

// Of a cell: what comes to it, or what it puts out.
struct Links {
    Link p1, p2, host, boundary;
};

// What comes to a cell in reset.
inline Links reset_links(const Strap& strap) {
    const Link up{0, RINGHIL_LINK_UP};
    return {up, up, up, strap.peer == NOBODY ? Link{} : up};
}

struct CellIn : Links {
    uint64_t mtx_data = 0;
    uint8_t mtx_ctl = 0;
    uint8_t reg_we = 0;
    uint8_t reg_addr = 0;
    uint32_t reg_wdata = 0;
};

struct CellOut : Links {
    std::array<uint64_t, 4> mrx_data{};
    std::array<uint8_t, 4> mrx_ctl{};
    uint8_t mtx_ready = 0;
    uint8_t quiescent = 0;
    uint64_t wake_at = UINT64_MAX;
};

}  // namespace ringhil

#endif
