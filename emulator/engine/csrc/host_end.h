// The CPU's end of a link to a GPU: frames out, with credits for the data channel and the link CRC; frames in,
// checked. The same rules as rtl/link_tx.sv and rtl/port_rx.sv, which answer it.
//
// While the GPU's end marks the link as faulty nothing goes out and nothing that comes in counts; a frame cut
// by that is lost, those behind it wait. Credits start afresh when the mark goes off, at both ends.
#ifndef RINGHIL_HOST_END_H
#define RINGHIL_HOST_END_H

#include "mail.h"

namespace ringhil {

class HostEnd {
public:
    void send(Frame frame) { m_queue[is_data(frame)].push_back(std::move(frame)); }

    // Next cycle in which this end has something to do, if nothing arrives.
    uint64_t wake_at(uint64_t now) const {
        if (carries(m_out) || m_owed) return now;
        if (m_down) return UINT64_MAX;
        uint64_t at = UINT64_MAX;
        if (!m_queue[0].empty()) at = m_queue[0].front().at;
        if (!m_queue[1].empty() && (m_credits || m_sent[1])) at = std::min(at, m_queue[1].front().at);
        return std::max(at, now);
    }

    const Link& out() const { return m_out; }
    Collector& collector(int channel) { return m_in[channel]; }

    // One clock edge. Returns the channel (0 control, 1 data) on which a whole frame has come in, or -1.
    int step(uint64_t now, const Link& in) {
        int arrived = -1;
        const bool down = in.ctl & RINGHIL_LINK_FAULT;
        if (down != m_down) restart(down);
        m_out = Link{0, RINGHIL_LINK_UP};
        if (down) return arrived;
        if (in.ctl & RINGHIL_LINK_CREDIT) ++m_credits;
        if (in.ctl & RINGHIL_LINK_VALID) arrived = receive(in);
        if (m_owed) {
            --m_owed;
            m_out.ctl |= RINGHIL_LINK_CREDIT;
        }
        if (!transmit(now, 0)) transmit(now, 1);
        return arrived;
    }

private:
    static bool is_data(const Frame& frame) {
        const uint8_t kind = frame.flits[0] >> 56;
        return kind == RINGHIL_KIND_WORK || kind == RINGHIL_KIND_RESULT || kind == RINGHIL_KIND_ACKNOWLEDGEMENT;
    }

    void restart(bool down) {
        m_down = down;
        m_credits = 0;
        m_owed = down ? 0 : RINGHIL_DATA_SLOTS;
        for (int channel : {0, 1}) {
            m_in[channel].open = false;
            if (m_sent[channel]) m_queue[channel].pop_front();
            m_sent[channel] = 0;
        }
    }

    int receive(const Link& in) {
        const int channel = in.ctl & RINGHIL_LINK_DATA ? 1 : 0;
        const bool sof = in.ctl & RINGHIL_LINK_SOF, eof = in.ctl & RINGHIL_LINK_EOF;
        bool bad = in.ctl & RINGHIL_LINK_ERR;
        uint32_t& crc = m_crc_in[channel];
        if (sof) crc = RINGHIL_CRC_INITIAL;
        if (eof) {
            crc = ringhil_crc(crc, in.data, 4);
            bad = bad || ~crc != static_cast<uint32_t>(in.data);
            // Of a frame begun while the link was down the end brings no credit: it took none.
            if (channel && (sof || m_in[channel].open)) ++m_owed;
        } else {
            crc = ringhil_crc(crc, in.data, 8);
        }
        return m_in[channel].take(in.data, sof, eof, bad) ? channel : -1;
    }

    bool transmit(uint64_t now, int channel) {
        auto& queue = m_queue[channel];
        size_t& sent = m_sent[channel];
        if (queue.empty() || queue.front().at > now) return false;
        if (channel && !sent) {
            if (!m_credits) return false;
            --m_credits;
        }
        const Frame& frame = queue.front();
        const uint64_t flit = frame.flits[sent];
        uint32_t& crc = m_crc_out[channel];
        if (!sent) crc = RINGHIL_CRC_INITIAL;
        const bool last = sent + 1 == frame.flits.size();
        m_out.ctl |= RINGHIL_LINK_VALID | (channel ? RINGHIL_LINK_DATA : 0) | (sent ? 0 : RINGHIL_LINK_SOF)
            | (last ? RINGHIL_LINK_EOF : 0);
        crc = ringhil_crc(crc, flit, last ? 4 : 8);
        m_out.data = last ? (flit & 0xFFFFFFFF00000000u) | static_cast<uint32_t>(~crc) : flit;
        if (last) {
            queue.pop_front();
            sent = 0;
        } else {
            ++sent;
        }
        return true;
    }

    Link m_out{0, RINGHIL_LINK_UP};
    std::deque<Frame> m_queue[2];
    size_t m_sent[2] = {0, 0};
    Collector m_in[2];
    uint32_t m_crc_in[2] = {0, 0}, m_crc_out[2] = {0, 0};
    int m_credits = RINGHIL_DATA_SLOTS;
    int m_owed = 0;
    bool m_down = false;
};

}  // namespace ringhil

#endif
