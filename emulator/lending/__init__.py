"""Lending a whole GPU to a virtual machine (V)."""
