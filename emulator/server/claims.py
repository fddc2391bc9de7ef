"""What a firmware may say of itself and of others, by what it was told when it booted: of roles that are its own, of
GPUs that are there, in numbers that messages have room for. Whether it is true is for the judge."""

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
    Rejected,
    Suspected,
)
from ringhil.protocol.enums import Coded
from ringhil.protocol.reasons import LeaseEnd, Rejection
from ringhil.protocol.wire import MAX_CARDS, CensusVerdict, Role

WORD = 0xFFFFFFFF  # the highest number of a register, an epoch or a sequence
_LATEST = (1 << 63) - 1  # cycle


def check_claim(said: Observation, boot: Boot) -> None:
    """Raises ValueError for what can't be said."""
    what = type(said).__name__
    match said:
        case Elected(role, epoch):
            _role(what, role, _asks(boot))
            _epoch(what, epoch)
        case Deposed(role, epoch, why):
            _role(what, role, _asks(boot))
            _epoch(what, epoch)
            _word(f"{what}: why", why, LeaseEnd)
        case Granted(role, epoch, rank, until):
            _grant(what, role, epoch, rank, boot)
            check_number(f"{what}: until", until, 0, _LATEST)
        case Lapsed(role, epoch, rank, why):
            _grant(what, role, epoch, rank, boot)
            _word(f"{what}: why", why, LeaseEnd)
        case PeerUp(role, gpu) | PeerDown(role, gpu):
            _role(what, role, {*_asks(boot), *_grants(boot)})
            _one_of(f"{what}: gpu", gpu, _peers(role, boot))
        case Rejected(reason, sequence):
            _word(f"{what}: reason", reason, Rejection)
            check_number(f"{what}: sequence", sequence, 0, WORD)
        case Suspected(gpus):
            _gpus(f"{what}: gpus", gpus, boot)
        case Counted():
            _count(what, said, boot)


def _count(what: str, said: Counted, boot: Boot) -> None:
    check_number(f"{what}: count", said.count, 0, boot.gpus)
    if said.members is not None:
        _gpus(f"{what}: members", said.members, boot)
    _word(f"{what}: verdict", said.verdict, CensusVerdict)
    for name in ("break_after", "break_before"):
        if getattr(said, name) is not None:
            check_number(f"{what}: {name}", getattr(said, name), 0, boot.gpus - 1)
    check_number(f"{what}: sequence", said.sequence, 0, WORD)
    check_number(f"{what}: sent_at", said.sent_at, 0, _LATEST)
    _gpus(f"{what}: degraded", said.degraded, boot)
    for pair in _tuple(f"{what}: boundaries", said.boundaries, "pairs of a GPU and a card"):
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError(f"{what}: boundaries: found {shown(pair)}; allowed is a pair of a GPU and a card")
        check_number(f"{what}: boundaries", pair[0], 0, boot.gpus - 1)
        check_number(f"{what}: boundaries: card", pair[1], 0, MAX_CARDS - 1)
    check_number(f"{what}: weight", said.weight, 0, WORD)


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


def _peers(role: Role, boot: Boot) -> set[int]:
    """The GPUs of a group that one of it can hear, over its uplink too."""
    group = boot.entry if role is Role.ENTRY else boot.boundary
    assert group is not None
    others = {*group.members} - {boot.gpu}
    return others if role is Role.ENTRY else others | {group.uplink_home}


def _role(what: str, role: object, allowed: Collection[Role]) -> None:
    if not isinstance(role, Role) or role not in allowed:
        names = ", ".join(f"Role.{each.name}" for each in Role if each in allowed) or "none, of this GPU"
        raise ValueError(f"{what}: role: found {shown(role)}; allowed are {names}")


def _grant(what: str, role: object, epoch: object, rank: object, boot: Boot) -> None:
    _role(what, role, _grants(boot))
    assert boot.boundary is not None
    _epoch(what, epoch)
    check_number(f"{what}: rank", rank, 0, len(boot.boundary.members) - 1)


def _epoch(what: str, epoch: object) -> None:
    check_number(f"{what}: epoch", epoch, 1, WORD)  # 0 is that of a GPU that knows none


def _word(what: str, word: object, kind: type[Coded]) -> None:
    if not isinstance(word, kind):
        names = ", ".join(f"{kind.__name__}.{each.name}" for each in kind)
        raise ValueError(f"{what}: found {shown(word)}; allowed are {names}")


def _one_of(what: str, gpu: object, allowed: Collection[int]) -> None:
    if not isinstance(gpu, int) or isinstance(gpu, bool) or gpu not in allowed:
        there = ", ".join(map(str, sorted(allowed))) or "none, as there is no other"
        raise ValueError(f"{what}: found {shown(gpu)}; allowed are {there}")


def _tuple(what: str, found: object, of: str) -> tuple[object, ...]:
    if not isinstance(found, tuple):
        raise ValueError(f"{what}: found {shown(found)}; allowed is a tuple of {of}")
    return found


def _gpus(what: str, gpus: object, boot: Boot) -> None:
    for gpu in _tuple(what, gpus, "GPUs"):
        check_number(what, gpu, 0, boot.gpus - 1)
