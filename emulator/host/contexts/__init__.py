"""Contexts of GPUs: the commands that they carry out, and the driver that brings these there."""
