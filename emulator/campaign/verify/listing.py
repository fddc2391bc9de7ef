"""Names of what would be played, without playing it."""

from collections.abc import Sequence
from pathlib import Path

from ringhil.emulator.campaign.verify.player import chosen, name_of
from ringhil.emulator.campaign.verify.selection import Selection
from ringhil.emulator.campaign.verify.verdict import identity
from ringhil.emulator.scenario import load_variants


def listed(files: Sequence[Path], selection: Selection) -> list[str]:
    """Ids, in the order in which verdicts come. Raises ScenarioError for a file that can't be used."""
    names = []
    for number, file in enumerate(files):
        variants = load_variants(file)
        numbers = chosen(file, number, variants, selection)
        names += [identity(file, name_of(variants, n)[0]) for n in numbers]
    return names
