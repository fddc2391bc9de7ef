/* The firmware on Arm's MPS2 with the AN385 image, a Cortex-M3: UART 0 is the line. QEMU has this board. */
#include "ringhil_board.h"
#include "ringhil_firmware.h"
#include "ringhil_messages.h"

#include <string.h>

#define STATE_BYTES (256u * 1024u)

struct uart { /* CMSDK APB UART */
    volatile uint32_t data, state, control, interrupts, divider;
};
#define UART0 ((struct uart *)0x40004000u)
#define SEND_FULL 1u
#define RECEIVED 2u
#define ENABLE_BOTH 3u
#define DIVIDER 217u /* of 25 MHz: 115,200 baud */

static uint8_t in[RH_LONGEST + RH_CRC_BYTES], kept[RH_LONGEST], out[RH_WRAPPED(RH_LONGEST)];
static uint64_t state[STATE_BYTES / 8];
static struct rhf_board board;

static void write_all(void *context, const uint8_t *data, size_t length) {
    (void)context;
    for (size_t i = 0; i < length; ++i) {
        while (UART0->state & SEND_FULL)
            ;
        UART0->data = data[i];
    }
}

static void run(void) {
    if (rhf_size() > sizeof state)
        for (;;)
            ;
    UART0->divider = DIVIDER;
    UART0->control = ENABLE_BOTH;
    rhf_board_init(&board, in, sizeof in, kept, sizeof kept, out, sizeof out);
    board.state = state;
    board.answer = rhf_answer;
    board.write = write_all;
    for (;;)
        if (UART0->state & RECEIVED)
            rhf_board_receive(&board, (uint8_t)UART0->data);
}

extern uint32_t bss_begin[], bss_end[], data_begin[], data_end[], data_kept[], stack_top[];

void reset(void);
void reset(void) {
    for (uint32_t *to = data_begin, *from = data_kept; to < data_end;)
        *to++ = *from++;
    for (uint32_t *to = bss_begin; to < bss_end;)
        *to++ = 0;
    run();
}

static void fault(void) {
    for (;;)
        ;
}

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {
    stack_top, (void *)reset, (void *)fault, (void *)fault, (void *)fault, (void *)fault, (void *)fault,
};
