"""What has to hold in every run, whatever a file expects. How each is judged: a class in `judge/invariants/`."""

from ringhil.emulator.scenario.file.model import Invariants

INVARIANTS = tuple(Invariants.model_fields)
