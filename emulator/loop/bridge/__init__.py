"""The bridge of rtl/hil_bridge.sv and its GPU, Verilated, behind a serial line: what a board with an FPGA would be."""
