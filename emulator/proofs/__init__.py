"""Proofs of RTL, for every input in every cycle: Yosys makes a model, a solver looks for what breaks a claim."""
