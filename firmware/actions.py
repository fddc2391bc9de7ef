"""What firmware answers with: commands and observations, in the order in which they hold."""

from ringhil.firmware.commands import Command
from ringhil.firmware.observations import Observation

Action = Command | Observation  # what firmware answers with
