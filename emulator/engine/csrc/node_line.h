// A line to a node outside: one request at a time, asked again until it is answered, or until the line is given up.
// What the messages mean: protocol/line/node_loop.py.
#ifndef RINGHIL_NODE_LINE_H
#define RINGHIL_NODE_LINE_H

#include <cerrno>
#include <cstring>
#include <poll.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "node_loop.h"
#include "ringhil_framing.h"

namespace ringhil {

// Waits until a line can be read (or written), for so many milliseconds at most; 0: it can't.
using WaitForLine = int (*)(int fd, int writing, int milliseconds);

inline int poll_line(int fd, int writing, int milliseconds) {
    pollfd what{fd, static_cast<short>(writing ? POLLOUT : POLLIN), 0};
    int n = 0;
    do n = ::poll(&what, 1, milliseconds);
    while (n < 0 && errno == EINTR);
    return n > 0;
}

// Of all lines; another one for those whose time is not that of this machine.
inline WaitForLine wait_for_line = poll_line;

class NodeLine {
public:
    // `fd`: open for reading and writing, raw, and not ours to close; `sequence`: of the last request; `patience`:
    // milliseconds without a byte after which a request is asked again.
    NodeLine(int fd, uint8_t sequence, int patience) : m_fd(fd), m_patience(patience), m_sequence(sequence) {
        rh_receiver_init(&m_receiver, m_room, sizeof m_room);
    }
    NodeLine(const NodeLine&) = delete;
    NodeLine& operator=(const NodeLine&) = delete;

    // Why nothing more will come; empty as long as something may.
    const std::string& gone() const { return m_gone; }
    uint64_t sent() const { return m_bytes_sent; }
    uint64_t received() const { return m_bytes_received; }

    void ask(uint8_t type, const std::vector<uint8_t>& body) {
        m_message.assign({type, ++m_sequence});
        m_message.insert(m_message.end(), body.begin(), body.end());
        m_frame.resize(RH_WRAPPED(m_message.size()));
        m_frame.resize(rh_wrap(m_message.data(), m_message.size(), m_frame.data(), m_frame.size()));
        send();
    }

    // The body of the answer to what was asked, or false: it is gone. Valid until the next request.
    bool answer(const uint8_t*& body, size_t& length) {
        size_t silent = 0, heard = 0;
        bool again = false;
        for (uint32_t damaged = 0; m_gone.empty();) {
            if (m_at == m_end && !fill(silent, heard, again)) continue;
            const uint32_t before = m_receiver.damaged;
            const size_t size = rh_receive(&m_receiver, m_chunk[m_at++]);
            const bool unheard = size == 1 && m_room[0] == node_loop::DAMAGED;
            if (unheard || m_receiver.damaged != before) {
                if (++damaged == MOST_DAMAGED) give_up("says nothing that can be understood");
                else again = true;
            } else if (size >= 2 && m_room[1] == m_sequence) {
                if (m_room[0] == (m_message[0] | node_loop::REPLY)) {
                    body = m_room + 2;
                    length = size - 2;
                    return true;
                }
                if (m_room[0] == node_loop::REFUSED && size == 3) refused(m_room[2]);
            }
        }
        return false;
    }

    void give_up(const char* why) { m_gone = why; }

private:
    static constexpr size_t MOST_SILENT = 8, MOST_HEARD = 1 << 16;  // of one request: times patience; bytes
    static constexpr uint32_t MOST_DAMAGED = 200;
    static constexpr int QUIET = 16;  // of patience that part

    void refused(uint8_t why) {
        using namespace node_loop;
        if (why == WHY_OUT_OF_ORDER || why == WHY_NOT_RESET) give_up("has lost its state: it was reset, or without power");
        else give_up("refuses what it is asked");
    }

    void send() {
        for (size_t done = 0; done < m_frame.size() && m_gone.empty();) {
            const ssize_t n = ::write(m_fd, m_frame.data() + done, m_frame.size() - done);
            if (n > 0) done += n;
            else if (n < 0 && errno == EAGAIN) {
                if (!wait_for_line(m_fd, 1, m_patience * static_cast<int>(MOST_SILENT))) give_up("takes nothing");
            } else if (n == 0 || errno != EINTR) give_up("is gone");
        }
        if (m_gone.empty()) m_bytes_sent += m_frame.size();
    }

    // False: nothing has come, and it was asked again or given up. `again`: something was damaged. Then it is asked again
    // as soon as nothing more comes; at once, each piece of noise would bring an answer, with more noise around it.
    bool fill(size_t& silent, size_t& heard, bool& again) {
        if (!wait_for_line(m_fd, 0, again ? m_patience / QUIET : m_patience)) {
            if (!again && ++silent == MOST_SILENT) give_up("is silent");
            else send();
            again = false;
            return false;
        }
        const ssize_t n = ::read(m_fd, m_chunk, sizeof m_chunk);
        if (n <= 0) {
            if (n == 0 || (errno != EAGAIN && errno != EINTR)) give_up("is gone");
            return false;
        }
        m_at = 0;
        m_end = n;
        m_bytes_received += n;
        if ((heard += n) > MOST_HEARD) give_up("says nothing that can be understood");
        return true;
    }

    int m_fd, m_patience;
    uint8_t m_sequence;
    std::vector<uint8_t> m_message, m_frame;
    uint8_t m_room[256], m_chunk[1024];
    size_t m_at = 0, m_end = 0;
    rh_receiver m_receiver;
    uint64_t m_bytes_sent = 0, m_bytes_received = 0;
    std::string m_gone;
};

}  // namespace ringhil

#endif
