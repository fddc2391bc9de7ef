"""Design mistakes in a node, thirty a set: what designers really get wrong, no mutated operators.

Each set was written from the contract (docs/reference/hardware.md) by somebody who had not looked at the rules, and is
only worth something as a measure before rules are written for what it has shown: then the next set counts.
"""
