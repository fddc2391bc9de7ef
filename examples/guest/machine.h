/* The guest's machine: a PC as QEMU emulates it, without interrupts. Offsets and addresses are bytes. */
#ifndef GUEST_MACHINE_H
#define GUEST_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* The port 0xE9, which QEMU prints (-device isa-debugcon). */
void print(const char *text);
void print_hex(uint64_t value, int digits);
void end(int code); /* of QEMU (-device isa-debug-exit): 2 * code + 1 */

/* The first serial port, which QEMU connects with the server's HTTP (-serial chardev:...). */
long serial_send(void *line, const char *data, size_t size);
long serial_receive(void *line, char *data, size_t size);

/* Lets a card go that QEMU was asked to unplug: what ACPI does in larger systems. */
void let_go(void);

uint32_t pci_read(unsigned slot, unsigned function, unsigned at);
void pci_write(unsigned slot, unsigned function, unsigned at, uint32_t value);
/* Its slot on bus 0, or -1. `id`: device 16 | vendor 16. */
int pci_find(unsigned function, uint32_t id);
/* Writes a BAR and lets the function answer. */
void pci_map(unsigned slot, unsigned function, unsigned bar, uint32_t address);

uint32_t in_32(uint16_t port);
uint16_t in_16(uint16_t port);
uint8_t in_8(uint16_t port);
void out_32(uint16_t port, uint32_t value);
void out_16(uint16_t port, uint16_t value);
void out_8(uint16_t port, uint8_t value);

#endif
