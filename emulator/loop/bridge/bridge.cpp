// The bridge and its GPU (rtl/hil_bridge.sv) under one clock, fed with bytes. library.py has the same list of calls.

#include <cstdint>
#include <vector>

#include "Vdut.h"

namespace {

class Bridge {
public:
    Bridge() {
        m_model.rst_i = 1;
        clock();
        clock();
        m_model.rst_i = 0;
        m_model.tx_ready_i = 1;
    }

    // Clocks it until these bytes are taken and nothing more goes on; what it has sent stays until the next call.
    const std::vector<uint8_t>& feed(const uint8_t* bytes, uint64_t length) {
        m_sent.clear();
        for (const uint8_t* end = bytes + length; bytes != end || !m_model.idle_o;) {
            m_model.rx_valid_i = bytes != end;
            m_model.rx_data_i = bytes != end ? *bytes : 0;
            m_model.eval();
            const bool taken = m_model.rx_valid_i && m_model.rx_ready_o;
            if (m_model.tx_valid_o) m_sent.push_back(m_model.tx_data_o);
            clock();
            bytes += taken;
        }
        return m_sent;
    }

private:
    void clock() {
        m_model.clk_i = 1;
        m_model.eval();
        m_model.clk_i = 0;
        m_model.eval();
    }

    VerilatedContext m_context;
    Vdut m_model{&m_context, "bridge"};
    std::vector<uint8_t> m_sent;
};

}  // namespace

#define BRIDGE_API extern "C" __attribute__((visibility("default")))

BRIDGE_API Bridge* bridge_create() { return new Bridge; }
BRIDGE_API void bridge_destroy(Bridge* bridge) { delete bridge; }
BRIDGE_API uint64_t bridge_feed(Bridge* bridge, const uint8_t* bytes, uint64_t length, const uint8_t** sent) {
    const auto& answer = bridge->feed(bytes, length);
    *sent = answer.data();
    return answer.size();
}
