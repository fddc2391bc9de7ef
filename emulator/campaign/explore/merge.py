"""Stores of several machines as one: the shards of a campaign, and each case once."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ringhil.emulator.campaign.explore import ExploreError
from ringhil.emulator.campaign.explore.query import chosen
from ringhil.emulator.campaign.explore.store import Store, StoredCampaign

_WHOLE = [1, 1]
_SAME = ("scenario_hash", "rtl", "version", "seed", "space")
_WORDS = {"scenario_hash": "scenario", "rtl": "RTL", "version": "version of ringhil"}


def merge(parts: Sequence[Path], store: Store) -> int:
    """Put the last campaign of each of `parts` into `store`; its number there. Raises ExploreError, and then nothing is
    in it: they aren't parts of one, or say different things of a case."""
    first: tuple[Path, StoredCampaign] | None = None
    number = 0
    with store.all_or_nothing():
        for path in parts:
            with Store(path, read_only=True) as part:
                mine = chosen(part, None)
                campaign = part.campaigns()[mine]
                if first is None:
                    first = path, campaign
                    number = store.begin(replace(campaign, arguments={**campaign.arguments, "shard": _WHOLE}))
                _check_same(first, path, campaign)
                key = store.add_rows(number, part.rows(mine))
                if key is not None:
                    raise ExploreError(f"{path}: case {key}: another store has another result of it")
    return number


def _check_same(first: tuple[Path, StoredCampaign], path: Path, campaign: StoredCampaign) -> None:
    wanted = first[1]
    for name in _SAME:
        if getattr(campaign, name) != getattr(wanted, name):
            found, expected = _said(campaign, name), _said(wanted, name)
            raise ExploreError(f"{path}: its {_WORDS.get(name, name)} is {found}, that of {first[0]} {expected}")
    for name in dict.fromkeys((*wanted.arguments, *campaign.arguments)):
        old, new = _argument(wanted, name), _argument(campaign, name)
        if name != "shard" and old != new:
            raise ExploreError(f"{path}: its {name} is {new}, that of {first[0]} {old}")


def _said(campaign: StoredCampaign, name: str) -> Any:
    value = getattr(campaign, name)
    return ", ".join(f"{size:,} {part}" for part, size in value.items()) if name == "space" else value


def _argument(campaign: StoredCampaign, name: str) -> Any:
    return campaign.arguments.get(name)
