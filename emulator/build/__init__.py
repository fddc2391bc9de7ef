"""From RTL to a cached library: toolchain, node RTL of others, compiler processes, build cache."""
