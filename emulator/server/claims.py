"""What a firmware may say of itself and of others, by what it was told when it booted: of roles that are its own, and
of GPUs that are there. Whether it is true is for the judge."""

from collections.abc import Collection

from ringhil.emulator.documents import shown
from ringhil.firmware.boot import Boot
from ringhil.firmware.observations import (
    Counted,
    Deposed,
    Elected,
    Granted,
    Lapsed,
    Observation,
    PeerDown,
    PeerUp,
    Suspected,
)
from ringhil.protocol.wire import MAX_CARDS, MAX_RING, Role


def check_claim(said: Observation, boot: Boot) -> None:
    """Raises ValueError for what can't be said."""
    what = type(said).__name__
    match said:
        case Elected(role) | Deposed(role):
            _role(what, role, _asks(boot))
        case Granted(role, _, rank) | Lapsed(role, _, rank):
            _role(what, role, _grants(boot))
            assert boot.boundary is not None
            check_number(f"{what}: rank", rank, 0, len(boot.boundary.members) - 1)
        case PeerUp(role, gpu) | PeerDown(role, gpu):
            _role(what, role, {*_asks(boot), *_grants(boot)})
            check_number(f"{what}: gpu", gpu, 0, MAX_RING - 1)  # it may be on another card
        case Suspected(gpus):
            _gpus(f"{what}: gpus", gpus, boot)
        case Counted():
            check_number(f"{what}: count", said.count, 0, boot.gpus)
            _gpus(f"{what}: members", said.members or (), boot)
            _gpus(f"{what}: degraded", said.degraded, boot)
            _gpus(f"{what}: boundaries", tuple(gpu for gpu, _ in said.boundaries), boot)
            for _, card in said.boundaries:
                check_number(f"{what}: boundaries: card", card, 0, MAX_CARDS - 1)
            for name in ("break_after", "break_before"):
                if getattr(said, name) is not None:
                    check_number(f"{what}: {name}", getattr(said, name), 0, boot.gpus - 1)


def check_number(what: str, value: object, low: int, high: int) -> None:
    """Raises ValueError for what is no whole number in these limits."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"{what}: found {shown(value)}; allowed is a whole number from {low} to {high}")


def _asks(boot: Boot) -> set[Role]:
    """Roles that it may be elected for."""
    return ({Role.ENTRY} if boot.entry is not None else set()) | (
        {Role.BOUNDARY} if boot.boundary is not None and boot.asks else set()
    )


def _grants(boot: Boot) -> set[Role]:
    """Roles that it gives others."""
    return {Role.BOUNDARY} if boot.boundary is not None and not boot.asks else set()


def _role(what: str, role: object, allowed: Collection[Role]) -> None:
    if role not in allowed:
        names = ", ".join(f"Role.{each.name}" for each in Role if each in allowed) or "none, of this GPU"
        raise ValueError(f"{what}: role: found {shown(role)}; allowed are {names}")


def _gpus(what: str, gpus: tuple[int, ...], boot: Boot) -> None:
    for gpu in gpus:
        check_number(what, gpu, 0, boot.gpus - 1)
