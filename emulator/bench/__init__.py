"""Benchmarks: each beside its peer, in one run, on the same RTL and the same traffic."""
