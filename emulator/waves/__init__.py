"""Waveforms of a run, for GTKWave, Surfer and their like."""

from ringhil.emulator.waves.fst import WaveError, WaveWriter

__all__ = ["WaveError", "WaveWriter"]
