"""What a recording says of its run: the scenario. (Apart from `replaying`, which loads all that a run needs.)"""

from ringhil.emulator.scenario import Scenario, ScenarioError, loads
from ringhil.emulator.trace import RecordingError
from ringhil.emulator.trace.recording import Recording


def scenario_of(recording: Recording) -> Scenario:
    """What was run. Raises RecordingError."""
    try:
        return loads(recording.about.scenario, recording.about.name)
    except ScenarioError as error:
        raise RecordingError(f"{recording.path}: about: scenario: {error}") from None
