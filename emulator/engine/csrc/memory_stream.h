// Verilator's save format, into memory and out of it.
#ifndef RINGHIL_MEMORY_STREAM_H
#define RINGHIL_MEMORY_STREAM_H

#include <cstring>
#include <vector>

#include "verilated_save.h"

namespace ringhil {

class MemorySave final : public VerilatedSerialize {
public:
    explicit MemorySave(std::vector<uint8_t>& sink) : m_sink(sink) {}
    ~MemorySave() override { flush(); }
    void flush() override {
        m_sink.insert(m_sink.end(), m_bufp, m_cp);
        m_cp = m_bufp;
    }

private:
    std::vector<uint8_t>& m_sink;
};

class MemoryRestore final : public VerilatedDeserialize {
public:
    explicit MemoryRestore(const std::vector<uint8_t>& source) : m_source(source) { m_endp = m_bufp; }

protected:
    // Keeps what is left of the buffer and tops it up; the base class never asks for more than one insert.
    void fill() override {
        const size_t left = m_endp - m_cp;
        std::memmove(m_bufp, m_cp, left);
        const size_t room = bufferSize() - left;
        const size_t take = std::min(room, m_source.size() - m_at);
        std::memcpy(m_bufp + left, m_source.data() + m_at, take);
        m_at += take;
        m_cp = m_bufp;
        // At the end of the source the base class would ask again before each field: pretend there is more.
        m_endp = take < room ? m_bufp + bufferSize() : m_bufp + left + take;
    }

private:
    const std::vector<uint8_t>& m_source;
    size_t m_at = 0;
};

}  // namespace ringhil

#endif
