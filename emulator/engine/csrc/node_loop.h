// The line to a GPU's hardware outside: docs/howto/hil.md.
// Generated from protocol/line/node_loop.py: do not edit; `make generate` rewrites it.
#ifndef RINGHIL_NODE_LOOP_H
#define RINGHIL_NODE_LOOP_H

#include <cstddef>
#include <cstdint>

namespace ringhil::node_loop {

constexpr uint8_t HELLO = 0x01;
constexpr uint8_t RESET = 0x02;
constexpr uint8_t STEP = 0x03;
constexpr uint8_t LOOK = 0x04;
constexpr uint8_t HELLO_REPLY = 0x81;
constexpr uint8_t RESET_REPLY = 0x82;
constexpr uint8_t STEP_REPLY = 0x83;
constexpr uint8_t LOOK_REPLY = 0x84;
constexpr uint8_t DAMAGED = 0xC0;
constexpr uint8_t REFUSED = 0xFF;
constexpr uint8_t WHY_UNKNOWN_TYPE = 1;
constexpr uint8_t WHY_OUT_OF_ORDER = 2;
constexpr uint8_t WHY_NOT_RESET = 3;
constexpr uint8_t WHY_BAD_LENGTH = 4;
constexpr uint8_t REPLY = 0x80;
constexpr uint16_t DEAD = 0x0001;  // of the fault port
constexpr size_t IN_GROUPS = 10;
constexpr size_t IN_NOW = 0;
constexpr size_t IN_P1_DATA = 8;
constexpr size_t IN_P2_DATA = 16;
constexpr size_t IN_HOST_DATA = 24;
constexpr size_t IN_BOUNDARY_DATA = 32;
constexpr size_t IN_MTX_DATA = 40;
constexpr size_t IN_P1_CTL = 48;
constexpr size_t IN_P2_CTL = 49;
constexpr size_t IN_HOST_CTL = 50;
constexpr size_t IN_BOUNDARY_CTL = 51;
constexpr size_t IN_MTX_CTL = 52;
constexpr size_t IN_REG_WE = 53;
constexpr size_t IN_REG_ADDR = 54;
constexpr size_t IN_LINK_FAULT = 55;
constexpr size_t IN_REG_WDATA = 56;
constexpr size_t IN_LINK_DELAY = 60;
constexpr size_t IN_BER_PORT1 = 64;
constexpr size_t IN_BER_PORT2 = 66;
constexpr size_t IN_BER_HOST = 68;
constexpr size_t IN_BER_BOUNDARY = 70;
constexpr size_t IN_FAULT = 72;
constexpr size_t IN_RING_SIZE = 74;
constexpr size_t IN_NODE_ID = 76;
constexpr size_t IN_CARD_ID = 78;
constexpr size_t OUT_GROUPS = 11;
constexpr size_t OUT_P1_DATA = 0;
constexpr size_t OUT_P2_DATA = 8;
constexpr size_t OUT_HOST_DATA = 16;
constexpr size_t OUT_BOUNDARY_DATA = 24;
constexpr size_t OUT_MRX0_DATA = 32;
constexpr size_t OUT_MRX1_DATA = 40;
constexpr size_t OUT_MRX2_DATA = 48;
constexpr size_t OUT_MRX3_DATA = 56;
constexpr size_t OUT_WAKE_AT = 64;
constexpr size_t OUT_P1_CTL = 72;
constexpr size_t OUT_P2_CTL = 73;
constexpr size_t OUT_HOST_CTL = 74;
constexpr size_t OUT_BOUNDARY_CTL = 75;
constexpr size_t OUT_MRX_CTL = 76;
constexpr size_t OUT_MTX_READY = 78;
constexpr size_t OUT_QUIESCENT = 79;
constexpr size_t OUT_REG_RDATA = 80;

}  // namespace ringhil::node_loop

#endif
