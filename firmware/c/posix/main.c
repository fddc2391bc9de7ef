/* The firmware as a process of this machine: a board whose serial port is a pseudo terminal. Prints its name. */
#define _XOPEN_SOURCE 600
#include "ringhil_board.h"
#include "ringhil_firmware.h"
#include "ringhil_messages.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#define CHUNK 4096

static uint8_t in[RH_LONGEST + RH_CRC_BYTES], kept[RH_LONGEST], out[RH_WRAPPED(RH_LONGEST)];

static void write_all(void *context, const uint8_t *data, size_t length) {
    int line = *(const int *)context;
    while (length) {
        ssize_t done = write(line, data, length);
        if (done < 0)
            exit(1);
        data += done;
        length -= (size_t)done;
    }
}

/* Both ends of a pseudo terminal without any rules of lines; the other one stays open, or reading would fail when
 * nobody has it. */
static int opened(void) {
    struct termios raw;
    int line = posix_openpt(O_RDWR | O_NOCTTY), other;
    if (line < 0 || grantpt(line) || unlockpt(line) || (other = open(ptsname(line), O_RDWR | O_NOCTTY)) < 0 ||
        tcgetattr(other, &raw)) {
        perror("pseudo terminal");
        exit(2);
    }
    raw.c_iflag = raw.c_oflag = raw.c_lflag = 0;
    raw.c_cflag = CS8 | CREAD | CLOCAL;
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(other, TCSANOW, &raw);
    return line;
}

int main(void) {
    struct rhf_board board;
    uint8_t chunk[CHUNK];
    int line = opened();
    rhf_board_init(&board, in, sizeof in, kept, sizeof kept, out, sizeof out);
    board.state = calloc(1, rhf_size());
    board.answer = rhf_answer;
    board.write = write_all;
    board.context = &line;
    if (!board.state) {
        fputs("no memory\n", stderr);
        return 2;
    }
    printf("%s\n", ptsname(line));
    fflush(stdout);
    for (;;) {
        ssize_t got = read(line, chunk, sizeof chunk);
        if (got < 0)
            return 1;
        for (ssize_t i = 0; i < got; ++i)
            rhf_board_receive(&board, chunk[i]);
    }
}
