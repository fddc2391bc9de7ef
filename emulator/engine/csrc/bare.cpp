// A bare loop around the monolithic card: the peer of the benchmarks. Writes the same two statistics messages
// into GPU 0's mailbox every `period` cycles and counts what comes home; looks at nothing else. GPU 0's allowance
// (register `allowance_address`) is raised first, or its guardian would take so many rounds for babbling.

#include <cstring>

#include "Vdut.h"
#include "Vdut___024root.h"
#include "cell.h"

namespace {

template <typename T, typename Port>
void put(Port& port, size_t cell, T value) {
    std::memcpy(reinterpret_cast<uint8_t*>(&port) + cell * sizeof(T), &value, sizeof(T));
}
template <typename T, typename Port>
T first(const Port& port) {
    T value;
    std::memcpy(&value, &port, sizeof(T));
    return value;
}

}  // namespace

// `flits` holds the clockwise message, then the other one, `length` flits each. Returns the messages home.
extern "C" __attribute__((visibility("default"))) uint64_t ringhil_bare(uint32_t gpus, const uint64_t* flits,
                                                                        uint32_t length, uint64_t period,
                                                                        uint64_t cycles,
                                                                        uint8_t allowance_address) {
    VerilatedContext context;
    Vdut model(&context, "card");
    uint64_t home = 0;
    for (uint32_t i = 0; i < gpus; ++i) put<uint8_t>(model.host_rx_ctl_i, i, RINGHIL_LINK_UP);
    const auto edge = [&] {
        model.clk_i = 1;
        model.rootp->__Vtrigprevexpr___TOP__clk_i__0 = 0;
        model.eval();
    };
    model.rst_i = 1;
    edge();
    edge();
    model.rst_i = 0;
    put(model.reg_addr_i, 0, allowance_address);
    put<uint32_t>(model.reg_wdata_i, 0, 1000000);
    for (uint64_t now = 0; now < cycles; ++now) {
        const uint64_t at = now % period;
        uint8_t ctl = 0;
        if (at < 2 * length) {
            const uint64_t place = at % length;
            ctl = ringhil::MTX_VALID | (place ? 0 : ringhil::MTX_SOF) | (place + 1 == length ? ringhil::MTX_EOF : 0)
                | (at < length ? 0 : 1) << 3;
            put(model.mtx_data_i, 0, flits[at]);
        }
        put<uint8_t>(model.reg_we_i, 0, now == 0);
        put(model.mtx_ctl_i, 0, ctl);
        model.now_i = now;
        edge();
        constexpr uint8_t END = ringhil::MRX_VALID | ringhil::MRX_EOF;
        home += (first<uint8_t>(model.mrx0_ctl_o) & END) == END;
        home += (first<uint8_t>(model.mrx1_ctl_o) & END) == END;
    }
    return home;
}
