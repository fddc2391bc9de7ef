"""The one member that a warden is wired to, as the warden hears it; and others who claim to be it."""

from ringhil.emulator.loop.alone.stage import NotKept, Stage
from ringhil.firmware.election import GroupConfig
from ringhil.protocol.frames import Election, Keepalive
from ringhil.protocol.registers import ControlBit
from ringhil.protocol.wire import NO_HOLDER, MemberState, Operation, Port, Role


class Leader:
    """Asks the warden on `stage`, by its link unless another port is named, under a number of its own for each claim
    and keepalive."""

    def __init__(self, stage: Stage) -> None:
        group = stage.boot.boundary
        assert group is not None
        self._stage = stage
        self.group: GroupConfig = group
        self._claims = self._sequence = 0

    @property
    def granted(self) -> bool:
        """Whether the warden's node takes frames from the other card, by its register."""
        return self._stage.has(ControlBit.BOUNDARY)

    def elect(self, operation: Operation, epoch: int, port: Port = Port.BOUNDARY) -> Election:
        """The message that has been sent."""
        sent = self.message(operation, epoch)
        self._stage.hear(sent, port)
        return sent

    def message(self, operation: Operation, epoch: int) -> Election:
        """The next that asks this."""
        self._claims += 1
        group, boot = self.group, self._stage.boot
        head = (boot.card, 0, boot.gpus + 1, group.me, epoch, 1 << 16 | self._claims)
        return Election(*head, group.uplink_home, operation.code, Role.BOUNDARY.code, group.lease, 1 << group.rank)

    def claim(self, epoch: int, port: Port = Port.BOUNDARY) -> Election | None:
        """The answer, if one comes in time."""
        begin = self._stage.now
        asked = self.elect(Operation.CLAIM, epoch, port)

        def answers() -> list[Election]:
            return [
                sent.message
                for sent in self._stage.sent
                if sent.at >= begin and isinstance(sent.message, Election) and sent.message.sequence == asked.sequence
            ]

        self._stage.wait_for(lambda: bool(answers()), self.group.skew)
        return answers()[0] if answers() else None

    def refused(self, epoch: int, why: str) -> Election:
        """The refusal of a claim that has to be refused. Raises NotKept."""
        at, answer = self._stage.now, self.claim(epoch)
        if answer is None:
            raise NotKept(at, f"a claim of epoch {epoch} has no answer", f"it should be refused: {why}")
        if answer.operation != Operation.REFUSE.code:
            found = f"a claim of epoch {epoch} is answered with {_word(answer)}"
            raise NotKept(at, found, f"it should be refused: {why}")
        return answer

    def must_be_granted(self, epoch: int, why: str) -> int:
        """When it asked. Raises NotKept."""
        at, answer = self._stage.now, self.claim(epoch)
        if answer is None or answer.operation != Operation.GRANT.code or answer.epoch != epoch:
            found = f"a claim of epoch {epoch} is answered with {_word(answer)}"
            raise NotKept(at, found, f"it should be granted: {why}")
        if not self.granted:
            raise NotKept(at, f"epoch {epoch} is granted, and boundary of control is 0", "the link should be in use")
        return at

    def keepalive(self, state: MemberState, epoch: int, *, port: Port = Port.BOUNDARY, sequence: int = 0) -> int:
        """Its sequence number: this one, or one more than the last."""
        self._sequence = sequence or self._sequence + 1
        group, boot = self.group, self._stage.boot
        head = (boot.card, 0, boot.gpus + 1, group.me, epoch, self._sequence, group.uplink_home << 16 | 1, 0)
        times = (group.multiplier, state.code, group.interval, 1 << group.rank, 0, NO_HOLDER)
        self._stage.hear(Keepalive(*head, Role.BOUNDARY.code, group.rank, *times), port)
        return self._sequence


def _word(answer: Election | None) -> str:
    if answer is None:
        return "nothing"
    words = {operation.code: str(operation) for operation in Operation}
    return f"{words.get(answer.operation, f'operation {answer.operation}')} of epoch {answer.epoch}"
