// Node by node: one Verilated cell for each GPU. Exact, because all outputs of a cell are registered: as long
// as every cell of a cycle reads its neighbours' outputs from before that cycle, order doesn't matter.
#ifndef RINGHIL_CELLS_BACKEND_H
#define RINGHIL_CELLS_BACKEND_H

#include <memory>
#include <string>

#include "Vdut.h"
#include "Vdut___024root.h"
#include "cell.h"
#include "one_thread.h"
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

namespace ringhil {

class Backend {
public:
    static constexpr bool CAN_SKIP = true;

    explicit Backend(const std::vector<Strap>& straps) {
        m_models.reserve(straps.size());
        for (const Strap& strap : straps) {
            m_models.push_back(std::make_unique<Vdut>(context(), "cell"));
            Vdut& m = *m_models.back();
            m.card_id_i = strap.card;
            m.node_id_i = strap.node;
            m.ring_size_i = strap.ring_size;
            const Links links = reset_links(strap);
            m.p1_rx_ctl_i = links.p1.ctl;
            m.p2_rx_ctl_i = links.p2.ctl;
            m.host_rx_ctl_i = links.host.ctl;
            m.boundary_rx_ctl_i = links.boundary.ctl;
            m.rst_i = 1;
            m.eval();  // settles the model, once; edge() relies on it
            edge(m);
            edge(m);
            m.rst_i = 0;
        }
    }

    void set_faults(uint32_t cell, const Faults& f) {
        Vdut& m = *m_models[cell];
        m.fault_i = f.node;
        m.link_fault_i = f.link;
        m.ber_port1_i = f.ber[0];
        m.ber_port2_i = f.ber[1];
        m.ber_host_i = f.ber[2];
        m.ber_boundary_i = f.ber[3];
        m.link_delay_i = f.delay[0] | f.delay[1] << 8 | f.delay[2] << 16 | static_cast<uint32_t>(f.delay[3]) << 24;
    }

    // From now on the flits that bit errors damage at a cell's links (port 1, port 2, CPU, other card) are others.
    void draw_errors(uint32_t cell, const std::array<uint32_t, 4>& drawn) { put_errors(*m_models[cell]->rootp, drawn); }

    void step(uint64_t now, const std::vector<uint32_t>& active, const std::vector<CellIn>& in) {
        for (const uint32_t cell : active) {
            Vdut& m = *m_models[cell];
            const CellIn& i = in[cell];
            m.now_i = now;
            m.p1_rx_data_i = i.p1.data;
            m.p1_rx_ctl_i = i.p1.ctl;
            m.p2_rx_data_i = i.p2.data;
            m.p2_rx_ctl_i = i.p2.ctl;
            m.host_rx_data_i = i.host.data;
            m.host_rx_ctl_i = i.host.ctl;
            m.boundary_rx_data_i = i.boundary.data;
            m.boundary_rx_ctl_i = i.boundary.ctl;
            m.mtx_data_i = i.mtx_data;
            m.mtx_valid_i = i.mtx_ctl & 1;
            m.mtx_sof_i = i.mtx_ctl >> 1 & 1;
            m.mtx_eof_i = i.mtx_ctl >> 2 & 1;
            m.mtx_port_i = i.mtx_ctl >> 3 & 3;
            m.reg_we_i = i.reg_we;
            m.reg_addr_i = i.reg_addr;
            m.reg_wdata_i = i.reg_wdata;
            begin_edge(m);
        }
        for (const uint32_t cell : active) end_edge(*m_models[cell]);
    }

    void read(uint32_t cell, CellOut& out) const {
        const Vdut& m = *m_models[cell];
        out.p1 = {m.p1_tx_data_o, m.p1_tx_ctl_o};
        out.p2 = {m.p2_tx_data_o, m.p2_tx_ctl_o};
        out.host = {m.host_tx_data_o, m.host_tx_ctl_o};
        out.boundary = {m.boundary_tx_data_o, m.boundary_tx_ctl_o};
        out.mrx_data = {m.mrx0_data_o, m.mrx1_data_o, m.mrx2_data_o, m.mrx3_data_o};
        out.mrx_ctl = {m.mrx0_ctl_o, m.mrx1_ctl_o, m.mrx2_ctl_o, m.mrx3_ctl_o};
        out.mtx_ready = m.mtx_ready_o;
        out.quiescent = m.quiescent_o;
        out.wake_at = m.wake_at_o;
    }

    // As of cycle `now`, which has not been simulated yet: some registers follow time.
    uint32_t peek(uint32_t cell, uint64_t now, uint8_t address) {
        Vdut& m = *m_models[cell];
        m.now_i = now;
        m.reg_addr_i = address;
        m.reg_we_i = 0;
        look(m);
        return m.reg_rdata_o;
    }

#if VM_TRACE
    // All that is inside a cell at this moment, as VCD. Its wires follow from its registers and from what came last.
    void show(uint32_t cell, uint64_t now, const char* path) {
        Vdut& m = *m_models[cell];
        m.now_i = now;
        Vdut___024root___eval(m.rootp);  // the clock does not move
        VerilatedVcdC vcd;
        m.trace(&vcd, 99);
        vcd.open(path);
        vcd.dump(now);
        vcd.close();
    }
#endif

private:
    // A cell of somebody else's may have another link, which stays as it is.
    template <typename Root>
    static void put_errors(Root& root, const std::array<uint32_t, 4>& drawn) {
        if constexpr (requires { root.ring_cell__DOT__u_port1__DOT__lfsr_q; }) {
            root.ring_cell__DOT__u_port1__DOT__lfsr_q = drawn[0];
            root.ring_cell__DOT__u_port2__DOT__lfsr_q = drawn[1];
            root.ring_cell__DOT__u_host__DOT__lfsr_q = drawn[2];
            root.ring_cell__DOT__u_boundary__DOT__lfsr_q = drawn[3];
        }
    }

    // A rising edge in one evaluation. Not through m.eval(), whose message queue takes a lock each time; a model settles
    // in its first m.eval(), in the constructor.
    static void edge(Vdut& m) {
        begin_edge(m);
        end_edge(m);
    }

#if MODEL_EDGE
    // Of emulator/build/edge.py: all at once.
    static void begin_edge(Vdut& m) { Vdut___024root___edge(*m.rootp); }
    static void end_edge(Vdut&) {}
    static void look(Vdut& m) { Vdut___024root___look(*m.rootp); }
#else
    // In two halves, as Vdut___024root___eval has them: a half of a model's code stays in the processor's cache from
    // cell to cell. First what follows from the inputs.
    static void begin_edge(Vdut& m) {
        m.rootp->__VicoFirstIteration = 1;
        while (Vdut___024root___eval_phase__ico(m.rootp)) m.rootp->__VicoFirstIteration = 0;
    }

    // The registers, and what follows from them; the model is told that the clock was low before.
    static void end_edge(Vdut& m) {
        m.clk_i = 1;
        m.rootp->__Vtrigprevexpr___TOP__clk_i__0 = 0;
        do {
            while (Vdut___024root___eval_phase__act(m.rootp)) {}
        } while (Vdut___024root___eval_phase__nba(m.rootp));
    }

    // The clock does not move: only what follows from the inputs settles.
    static void look(Vdut& m) { Vdut___024root___eval(m.rootp); }
#endif

#if VM_TRACE
    // What is shown is all of a context: so each cell has its own.
    VerilatedContext* context() {
        OneThread& made = *m_contexts.emplace_back(std::make_unique<OneThread>());
        made.traceEverOn(true);
        return &made;
    }

    std::vector<std::unique_ptr<OneThread>> m_contexts;
#else
    VerilatedContext* context() { return &m_context; }

    OneThread m_context;
#endif
    std::vector<std::unique_ptr<Vdut>> m_models;
};

}  // namespace ringhil

#endif
