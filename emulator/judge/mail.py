"""Keepalives and claims as the judge reads them off the wire, without the codec that is on trial."""

from typing import NamedTuple

from ringhil.protocol.frames import Election, Keepalive, Report, Statistics
from ringhil.protocol.wire import MemberState, Operation, Role

_STATE = 0x0F
_HOLDER = MemberState.HOLDER.code
_ROLES = {role.code: role for role in Role}
_OPERATIONS = {operation.code: operation for operation in Operation}
_LEAST = {kind.KIND: kind.HEAD.size for kind in (Keepalive, Election, Statistics, Report)}  # bytes


class Alive(NamedTuple):
    """A keepalive. `holding`: its sender holds the role; `rank`: of who holds it, by a grantor's answer."""

    role: Role
    epoch: int
    sequence: int
    echo: int
    holding: bool
    rank: int


class Ask(NamedTuple):
    """A claim or release, or the answer to one. `lease`: cycles."""

    role: Role
    epoch: int
    sequence: int
    operation: Operation
    lease: int


def cut_short(frame: bytes) -> bool:
    """Whether it has fewer bytes than its kind has fields. Firmware may write what it likes."""
    return len(frame) < _LEAST.get(frame[0], 0)


def read(frame: bytes) -> Alive | Ask | None:
    """What a frame of an election says; None: it is none."""
    if cut_short(frame):
        return None
    if frame[0] == Keepalive.KIND:
        f = Keepalive.HEAD.unpack_from(frame)
        role = _ROLES.get(f[9])
        return None if role is None else Alive(role, f[5], f[6], f[15], f[12] & _STATE == _HOLDER, f[16])
    if frame[0] == Election.KIND:
        e = Election.HEAD.unpack_from(frame)
        role, operation = _ROLES.get(e[9]), _OPERATIONS.get(e[8])
        return None if role is None or operation is None else Ask(role, e[5], e[6], operation, e[10])
    return None
