// A context whose models have no threads. By default each has a pool of them, idle as long as a model is compiled for
// one thread; a process that was forked is left without them, and waits for them for ever when it destroys the context.

#ifndef RINGHIL_ONE_THREAD_H
#define RINGHIL_ONE_THREAD_H

#include "verilated.h"

namespace ringhil {

struct OneThread : VerilatedContext {
    OneThread() { threads(1); }
};

}  // namespace ringhil

#endif
