/* What the library asks the server, and what it is told: one packet each way. `messages.py` has the same in Python. */
#ifndef RINGHIL_NVML_ASKING_H
#define RINGHIL_NVML_ASKING_H

#include <stdint.h>

#include "nvml_types.h"

#define SHOWN __attribute__((visibility("default")))
#define MUST(call)                                  \
  do {                                              \
    nvmlReturn_t done_ = (call);                    \
    if (done_ != NVML_SUCCESS) return done_;        \
  } while (0)

enum { RVM_VERSION = 2, RVM_MAGIC = 0x314D5652, RVM_MOST = 32 };

enum rvm_asked {
  RVM_HELLO = 1,
  RVM_COUNT,
  RVM_BY_INDEX,
  RVM_BY_UUID,
  RVM_BY_BUS,
  RVM_BY_SERIAL,
  RVM_GPU,
  RVM_MEMORY,
  RVM_UTILISATION,
  RVM_PROCESSES,
  RVM_PROCESS_NAME,
  RVM_METER,
  RVM_ARCHITECTURE = 14 /* after one that only ringhil asks */
};

enum rvm_meter { RVM_POWER = 1, RVM_ENERGY, RVM_TEMPERATURE, RVM_PERFORMANCE, RVM_POWER_NOW, RVM_POWER_LIMIT };

struct rvm_request {
  uint32_t magic, what, gpu, number;
  char text[96];
};

struct rvm_gpu {
  char name[96], uuid[48], serial[32];
  uint32_t domain, bus, device, index;
};

struct rvm_use {
  uint64_t memory, stamp;
  uint32_t pid, share;
};

struct rvm_answer {
  uint32_t magic;
  int32_t status;
  uint32_t number, reserved;
  union {
    char text[256];
    uint64_t values[4];
    struct rvm_gpu gpu;
    struct rvm_use uses[RVM_MOST];
  } as;
};

_Static_assert(sizeof(struct rvm_request) == 112, "as in messages.py");
_Static_assert(sizeof(struct rvm_gpu) == 192, "as in messages.py");
_Static_assert(sizeof(struct rvm_use) == 24, "as in messages.py");

/* Begin and end: as often as each other. `flags` don't matter. */
nvmlReturn_t rvm_begin(void);
nvmlReturn_t rvm_end(void);

/* Ask, and wait for the answer; `text` may be NULL. What the answer's status says is returned. */
nvmlReturn_t rvm_ask(enum rvm_asked what, uint32_t gpu, uint32_t number, const char *text, struct rvm_answer *answer);

/* The same about a device. */
nvmlReturn_t rvm_ask_of(nvmlDevice_t device, enum rvm_asked what, uint32_t number, struct rvm_answer *answer);

nvmlDevice_t rvm_device(uint32_t gpu);

#endif
