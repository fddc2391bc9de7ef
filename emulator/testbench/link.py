"""What the two ends of a link know of each other, apart from any pins."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ringhil.protocol import wire
from ringhil.protocol.wire import DATA_SLOTS

BIT = wire.LinkBit.codes()


@dataclass
class LinkModel:
    """Our end of a link, shared by the source and the sink of one port.

    | field | |
    |---|---|
    | `credits` | data frames that we may begin to send |
    | `owed` | credits that we have to give, one a cycle |
    | `up`, `fault` | our carrier and our remote-fault mark |
    | `peer_up`, `peer_fault` | the node's, as last seen |
    | `woken` | is called when there may be something to send |

    When the node takes the link down both ends forget their credits; when it uses it again, each gives the other one
    credit for each free slot.
    """

    credits: int = DATA_SLOTS
    owed: int = 0
    up: bool = True
    fault: bool = False
    peer_up: bool = True
    peer_fault: bool = False
    woken: list[Callable[[], None]] = field(default_factory=list)

    def wake(self) -> None:
        """Something changed that the source should look at."""
        for call in self.woken:
            call()

    def heard(self, bits: int) -> None:
        """Control bits that the node sent, in a cycle in which they changed or carry something."""
        if bits & BIT["credit"]:
            self.credits += 1
            self.wake()
        up, fault = bool(bits & BIT["up"]), bool(bits & BIT["fault"])
        if (up, fault) == (self.peer_up, self.peer_fault):
            return
        used, uses = self.peer_up and not self.peer_fault, up and not fault
        self.peer_up, self.peer_fault = up, fault
        if used and not uses:
            self.credits, self.owed = 0, 0
        elif uses and not used:
            self.credits, self.owed = 0, DATA_SLOTS  # what was heard while the link wasn't used was for the node itself
        self.wake()

    @property
    def used(self) -> bool:
        """Both ends have carrier, and neither says that it doesn't use the link."""
        return self.up and not self.fault and self.peer_up and not self.peer_fault

    def owe(self) -> None:
        """A slot became free."""
        self.owed += 1
        self.wake()

    @property
    def levels(self) -> int:
        """Control bits of our end's state."""
        return BIT["up"] * self.up | BIT["fault"] * self.fault
