"""A frame that a card may be asked to send: it goes through the ring, and changes nothing there."""

from ringhil.protocol import codec
from ringhil.protocol.frames import Keepalive
from ringhil.protocol.wire import MemberState, Role

_TTL = 255


def harmless(destination: int, token: int) -> bytes:
    """To that GPU: a keepalive of an epoch that is over, for an election that it takes no part in; `token`: 32 bits by
    which it is known again."""
    return codec.encode(
        Keepalive(
            card=0,
            flags=0,
            ttl=_TTL,
            destination=destination,
            epoch=0,
            sequence=token,
            my_discriminator=0,
            your_discriminator=0,
            role=Role.BOUNDARY.code,
            priority=0,
            multiplier=1,
            state=MemberState.FOLLOWER.code,
            interval=1,
            members=0,
            echo=0,
            holder=0,
        )
    )
