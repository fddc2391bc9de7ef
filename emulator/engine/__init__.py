"""The engine: RTL nodes, Verilated one by one, wired in C++ and driven by events."""
