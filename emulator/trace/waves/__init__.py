"""Waveforms of a run, for GTKWave, Surfer and their like."""

from ringhil.emulator.trace.waves.fst import WaveError, WaveWriter

__all__ = ["WaveError", "WaveWriter"]
