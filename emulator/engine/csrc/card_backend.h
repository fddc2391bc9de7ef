// A whole card (card_top) or server (server_top, with RINGHIL_SERVER) as one Verilated design: the yardstick for
// the cells backend. Evaluated every cycle. The boundary links of a server are wired in the design.
#ifndef RINGHIL_CARD_BACKEND_H
#define RINGHIL_CARD_BACKEND_H

#include <cstring>
#include <memory>

#include "Vdut.h"
#include "Vdut___024root.h"
#include "cell.h"
#include "one_thread.h"

namespace ringhil {

class Backend {
public:
    static constexpr bool CAN_SKIP = false;

    explicit Backend(const std::vector<Strap>& straps) : m_model(&m_context, "card") {
#ifndef RINGHIL_SERVER
        m_model.card_id_i = straps[0].card;
#endif
        for (size_t i = 0; i < straps.size(); ++i) put<uint8_t>(m_model.host_rx_ctl_i, i, RINGHIL_LINK_UP);
        m_model.rst_i = 1;
        edge();
        edge();
        m_model.rst_i = 0;
    }

    void set_faults(uint32_t cell, const Faults& f) {
        put(m_model.fault_i, cell, f.node);
        put(m_model.link_fault_i, cell, f.link);
        put(m_model.ber_port1_i, cell, f.ber[0]);
        put(m_model.ber_port2_i, cell, f.ber[1]);
        put(m_model.ber_host_i, cell, f.ber[2]);
        put(m_model.ber_boundary_i, cell, f.ber[3]);
        put(m_model.link_delay_i, cell, f.delay);
    }

    void draw_errors(uint32_t, const std::array<uint32_t, 4>&) {}

    void step(uint64_t now, const std::vector<uint32_t>& active, const std::vector<CellIn>& in) {
        m_model.now_i = now;
        m_context.time(now);  // for the messages of the RTL
        for (const uint32_t c : active) {
            const CellIn& i = in[c];
            put(m_model.host_rx_data_i, c, i.host.data);
            put(m_model.host_rx_ctl_i, c, i.host.ctl);
#ifndef RINGHIL_SERVER
            put(m_model.boundary_rx_data_i, c, i.boundary.data);
            put(m_model.boundary_rx_ctl_i, c, i.boundary.ctl);
#endif
            put(m_model.mtx_data_i, c, i.mtx_data);
            put(m_model.mtx_ctl_i, c, i.mtx_ctl);
            put(m_model.reg_we_i, c, i.reg_we);
            put(m_model.reg_addr_i, c, i.reg_addr);
            put(m_model.reg_wdata_i, c, i.reg_wdata);
        }
        edge();
    }

    void read(uint32_t c, CellOut& out) {
        out.p1 = {get<uint64_t>(m_model.p1_tx_data_o, c), get<uint8_t>(m_model.p1_tx_ctl_o, c)};
        out.p2 = {get<uint64_t>(m_model.p2_tx_data_o, c), get<uint8_t>(m_model.p2_tx_ctl_o, c)};
        out.host = {get<uint64_t>(m_model.host_tx_data_o, c), get<uint8_t>(m_model.host_tx_ctl_o, c)};
        out.boundary = {get<uint64_t>(m_model.boundary_tx_data_o, c), get<uint8_t>(m_model.boundary_tx_ctl_o, c)};
        out.mrx_data = {get<uint64_t>(m_model.mrx0_data_o, c), get<uint64_t>(m_model.mrx1_data_o, c),
                        get<uint64_t>(m_model.mrx2_data_o, c), get<uint64_t>(m_model.mrx3_data_o, c)};
        out.mrx_ctl = {get<uint8_t>(m_model.mrx0_ctl_o, c), get<uint8_t>(m_model.mrx1_ctl_o, c),
                       get<uint8_t>(m_model.mrx2_ctl_o, c), get<uint8_t>(m_model.mrx3_ctl_o, c)};
        out.mtx_ready = get<uint8_t>(m_model.mtx_ready_o, c);
        out.quiescent = get<uint8_t>(m_model.quiescent_o, c);
        out.wake_at = get<uint64_t>(m_model.wake_at_o, c);
    }

    uint32_t peek(uint32_t c, uint64_t now, uint8_t address) {
        m_model.now_i = now;
        put(m_model.reg_addr_i, c, address);
        put<uint8_t>(m_model.reg_we_i, c, 0);
        m_model.eval();
        return get<uint32_t>(m_model.reg_rdata_o, c);
    }

private:
    // Ports lie side by side, cell i at [W*i +: W], whatever type Verilator gave the whole vector: on a
    // little-endian machine the words of every such type lie in memory in that order.
    template <typename T, typename Port>
    static void put(Port& port, size_t cell, T value) {
        std::memcpy(reinterpret_cast<uint8_t*>(&port) + cell * sizeof(T), &value, sizeof(T));
    }
    template <typename T, typename Port>
    static T get(const Port& port, size_t cell) {
        T value;
        std::memcpy(&value, reinterpret_cast<const uint8_t*>(&port) + cell * sizeof(T), sizeof(T));
        return value;
    }

    void edge() {
        m_model.clk_i = 1;
        m_model.rootp->__Vtrigprevexpr___TOP__clk_i__0 = 0;
        m_model.eval();
    }

    OneThread m_context;
    Vdut m_model;
};

}  // namespace ringhil

#endif
