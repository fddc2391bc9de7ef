"""Firmware of a GPU as state machines without clock or I/O."""
