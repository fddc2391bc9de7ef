"""Whether the server names the place of a fault, where it has to.

| fault | is named when |
|---|---|
| `dead`, `hang`, `babble` | the GPU is no member |
| `switch_stuck_bypass` | the GPU is isolated; when it has failed as well, it is no member |
| `switch_stuck_through` | the GPU has failed, and lies between the ends of the break |
| what lies (`Trait.LIES`) | the GPU, or a neighbour whose link it shares, is suspected |
| `slow` | the GPU is degraded |
| `link_cut`, `link_one_way` | the link lies between the ends of the break |
| `link_delay` | it is the slow link |
| `link_bit_errors` | it is the noisy link |

Of the others nothing is named: a role moves, and that is judged by itself. Neither is anything that strikes the entry
GPU, whose card has nobody else to name it, nor a link between cards, nor anything where messages carry no records.
"""

from ringhil.emulator.host.card import CardView
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import GpuRef, LinkRef, TimelineEvent, Trait, having

_FAILED, _LIARS, _CUTS = having(Trait.STOPS), having(Trait.LIES), having(Trait.BREAKS)


def located(server: Run, fault: TimelineEvent, faults: list[TimelineEvent]) -> bool | None:
    """Whether `fault`, one of `faults`, is named now; None: nothing has to be."""
    if not isinstance(fault.target, GpuRef | LinkRef) or server.scenario.server.settings.records == "never":
        return None
    view = next(card for card in server.cpu.cards if card.name == fault.target.card)
    if view.entry is None:
        return None
    if isinstance(fault.target, LinkRef):
        return _link(view, fault.kind, fault.target.index)
    return _gpu(server, view, fault.kind, fault.target.index, _kinds(fault, faults))


def _kinds(fault: TimelineEvent, faults: list[TimelineEvent]) -> set[str]:
    """All that strikes the same GPU."""
    return {other.kind for other in faults if other.target == fault.target}


def _gpu(server: Run, view: CardView, kind: str, gpu: int, kinds: set[str]) -> bool | None:
    if gpu == view.entry:
        return None
    if kind in _FAILED or kind == "babble":
        return gpu not in view.members
    if kind == "switch_stuck_bypass":
        return gpu not in view.members and (bool(kinds & _FAILED) or gpu in server.isolated(view))
    if kind == "switch_stuck_through":
        return gpu in view.stranded if kinds & _FAILED else None
    if kind == "duplicate_id" and (gpu - 1) % view.size == view.entry:
        return None  # its number is the entry GPU's, whose messages are then lost: that names nobody
    if kind in _LIARS:
        near = {gpu, (gpu - 1) % view.size, (gpu + 1) % view.size}
        return bool(near & set(view.suspects))
    if kind == "slow":
        return gpu in view.degraded
    return None


def _link(view: CardView, kind: str, link: int) -> bool | None:
    if kind in _CUTS:
        return link in view.gap
    if kind == "link_delay":
        return view.slow_link == link
    if kind == "link_bit_errors":
        return view.noisy_link == link
    return None
