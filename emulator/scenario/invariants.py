"""What has to hold in every run, whatever a file expects. How each is judged: `judge/invariants.py`."""

from ringhil.emulator.scenario.model import Invariants

INVARIANTS = tuple(Invariants.model_fields)
