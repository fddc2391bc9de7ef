"""Builds RTL into a cached library: toolchain, node RTL of others, compiler processes, build cache."""
