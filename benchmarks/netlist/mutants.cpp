// Which mutant a model has from its first evaluation on, and which bits were addressed. mutants.v calls this.

#include <cstdint>

namespace {
constexpr int MOST = 4096;  // mutants, as in mutants.py
int chosen = 0;
bool addressed[MOST + 1];
}  // namespace

extern "C" int mutant_chosen() { return chosen; }
extern "C" void mutant_addressed(int number) { addressed[number] = true; }

#define MUTANTS_API extern "C" __attribute__((visibility("default")))

// Of models that are made from now on; 0: none.
MUTANTS_API void mutants_choose(int number) { chosen = number; }
MUTANTS_API void mutants_forget() {
    for (bool& one : addressed) one = false;
}
MUTANTS_API uint8_t mutants_addressed(int number) { return addressed[number]; }
