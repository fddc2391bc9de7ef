"""More cards that break one promise each: faults that aren't done or not ended, events of faults and of elections."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.management import EventKind, Injection, LineFault

from .mistaken import NOW, Answered, Subscribing, answers, changes, finds, instead
from .mistaken_requests import Redone

_OWN = 0x7FF1  # the id of a request of the card's


class Pretending(Answered):
    """Faults that `pretends` says are set and ended in words only; what is set twice is refused all the same."""

    def pretends(self, request: m.InjectRequest) -> bool:
        return False

    def answers(self, request: Any) -> Any:
        if not isinstance(request, m.InjectRequest) or not self.pretends(request):
            return None
        return m.InjectReply(request.id, self.memory.get("now", 0))

    def told(self, message: Any) -> list[Any]:
        self.memory["now"] = getattr(message, "now", self.memory.get("now", 0))
        return [message]


def pretends(name: str, pretending: Callable[[m.InjectRequest], bool]) -> None:
    finds("faults.kinds")(type(name, (Pretending,), {"pretends": lambda self, request: pretending(request)}))


SHOWN = (
    LineFault.HANG,
    LineFault.SWITCH_STUCK_BYPASS,
    LineFault.FLAP,
    LineFault.CORRUPT,
    LineFault.SKIP_COUNT,
    LineFault.DOUBLE_COUNT,
    LineFault.DUPLICATE_ID,
    LineFault.LINK_CUT,
    LineFault.LINK_ONE_WAY,
    LineFault.LINK_BIT_ERRORS,
    LineFault.LINK_DELAY,
)
for kind in SHOWN:
    pretends(f"{kind}_is_not_done", lambda r, kind=kind: r.fault == kind.code)
    pretends(f"{kind}_is_not_ended", lambda r, kind=kind: r.fault == kind.code and r.injection == Injection.CLEAR.code)

instead(
    "faults.kinds",
    "cuts_the_next_link",
    m.InjectRequest,
    lambda r: replace(r, gpu=(r.gpu + 1) % 4) if r.fault == LineFault.LINK_CUT.code else r,
)
instead(
    "faults.kinds",
    "hangs_another_gpu",
    m.InjectRequest,
    lambda r: replace(r, gpu=r.gpu ^ 1) if r.fault == LineFault.HANG.code else r,
)
instead(
    "faults.event",
    "values_are_the_default",
    m.InjectRequest,
    lambda r: replace(r, value=0) if r.fault == LineFault.LINK_DELAY.code and r.value < 64 else r,
)
instead(
    "faults.done",
    "two_die",
    m.InjectRequest,
    lambda r: [r, replace(r, id=0x7F55, gpu=r.gpu ^ 1)] if r.fault == 1 and r.gpu < 4 and not r.value else r,
)
instead("faults.values", "values_in_4_bits", m.InjectRequest, lambda r: replace(r, value=r.value & 0xF0))
instead(
    "faults.values",
    "dead_takes_a_value",
    m.InjectRequest,
    lambda r: replace(r, value=0) if r.fault == LineFault.DEAD.code else r,
)
changes("faults.event", "injected_at_the_beginning", m.InjectReply, lambda r: replace(r, now=0))
changes("faults.event", "fault_of_another_value", m.FaultEvent, lambda e: replace(e, value=e.value + 1))
changes("faults.event", "fault_without_a_value", m.FaultEvent, lambda e: replace(e, value=0))
changes("faults.event", "fault_at_the_beginning", m.FaultEvent, lambda e: replace(e, cycle=0))
changes("faults.event", "fault_in_the_future", m.FaultEvent, lambda e: replace(e, cycle=NOW))
changes("faults.told", "fault_told_twice", m.FaultEvent, lambda e: [e, e])
changes("faults.told", "fault_told_when_set_only", m.FaultEvent, lambda e: e if e.injection else None)
changes("faults.told", "fault_always_set", m.FaultEvent, lambda e: replace(e, injection=1))


@finds("faults.once")
class InjectedTwice(Redone):
    """A fault to be set that comes again is set again, and nobody is told."""

    types, hides = (m.InjectRequest.TYPE,), True


@finds("faults.once")
class InjectedAnew(Redone):
    """A fault to be set that comes again is set again, and says so."""

    types = (m.InjectRequest.TYPE,)


# --------------------------------------------------------------------------------------------------- elections

changes("roles.told", "tells_no_role", m.RoleEvent, lambda e: None)
changes("roles.told", "role_of_an_old_epoch", m.RoleEvent, lambda e: replace(e, epoch=e.epoch - 1))
changes("roles.told", "role_of_another_gpu", m.RoleEvent, lambda e: replace(e, gpu=e.gpu ^ 1))
changes("roles.told", "always_deposed", m.RoleEvent, lambda e: replace(e, holds=0))
changes("roles.told", "elected_at_the_beginning", m.RoleEvent, lambda e: replace(e, cycle=0))
changes("roles.told", "elected_as_something_else", m.RoleEvent, lambda e: replace(e, role=2))


@finds("roles.unasked")
class RolesForAll(Subscribing):
    """Whoever has subscribed to anything is told of roles."""

    def instead(self, events: int) -> int:
        return events | (EventKind.ROLES if events else 0)


# ------------------------------------------------------------------------------------------------ told unasked


def told_too(name: str, to: EventKind) -> None:
    """Who has subscribed to one kind of events is told of faults, too."""

    class Leaking(Subscribing):
        def instead(self, events: int) -> int:
            return events | EventKind.FAULTS if events & to else events

    finds("faults.unasked")(type(name, (Leaking,), {}))


told_too("FaultsForWhoSeesCounts", EventKind.COUNTS)
told_too("FaultsForWhoSeesRoles", EventKind.ROLES)


@finds("faults.unasked")
class FaultsForEver(Subscribing):
    """Who has subscribed to faults once is told of them for ever, after hello too."""

    def asked(self, request: bytes) -> list[bytes]:
        if request[0] == m.HelloRequest.TYPE and self.memory.get("faults"):
            return [request, encode(m.SubscribeRequest(_OWN, EventKind.FAULTS))]
        return super().asked(request)

    def instead(self, events: int) -> int:
        self.memory["faults"] = self.memory.get("faults") or events & EventKind.FAULTS
        return events

    def told(self, message: Any) -> list[Any]:
        return [] if message.id == _OWN else super().told(message)


answers(
    "faults.values",
    "dead_of_gpus_far_beyond",
    m.InjectRequest,
    lambda r: m.InjectReply(r.id, NOW) if r.gpu > 4 else None,
)
