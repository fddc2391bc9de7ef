"""The other end of a member's uplink: our grantor, some cycles away."""

from dataclasses import replace

from ringhil.emulator.loop.alone.stage import FrameOut, NotKept, Stage
from ringhil.firmware.election import GroupConfig
from ringhil.firmware.grantor import Grantor
from ringhil.protocol.frames import Election, Keepalive
from ringhil.protocol.registers import ControlBit
from ringhil.protocol.wire import NO_HOLDER, Operation, Role

_DELAY = 40  # cycles there, and back
BIT = {Role.ENTRY: ControlBit.ENTRY, Role.BOUNDARY: ControlBit.BOUNDARY}


class Uplink:
    """Answers whatever the member on `stage` asks of it, unless it is `silent`, or hears no claims or no keepalives any
    more. `reluctant`: what its answers say; `boots_before`: those to keepalives
    name a boot that was so many before. `asked`: all that
    the member has sent by it."""

    def __init__(self, stage: Stage, group: GroupConfig | None, *, delay: int = _DELAY) -> None:
        assert group is not None
        self.stage, self.group, self.delay = stage, group, delay
        # Who it says that it is: the CPU is 0, a warden the GPU at the far end, in its first boot.
        self.far = 0 if group.role is Role.ENTRY else group.uplink_home << 16 | 1
        self.grantor = Grantor(group.role, group.lease, group.guard, discriminator=self.far)
        self.silent = False
        self.hears_claims = self.hears_keepalives = True
        self.reluctant = self.boots_before = 0
        self.asked = list[tuple[int, Keepalive | Election]]()
        self._claims = 0  # given by `wait_for_claim`
        stage.on_sent.append(self._sent)

    @property
    def held(self) -> bool:
        """Whether the member has taken the role up, by its register."""
        return self.stage.has(BIT[self.group.role])

    def elections(self, operation: Operation, since: int = 0) -> list[tuple[int, Election]]:
        """What the member has asked in such words, and when."""
        return [
            (at, message)
            for at, message in self.asked
            if at >= since and isinstance(message, Election) and message.operation == operation.code
        ]

    def keepalives(self, since: int = 0) -> list[tuple[int, Keepalive]]:
        """The member's keepalives to it, and when they left."""
        return [(at, message) for at, message in self.asked if at >= since and isinstance(message, Keepalive)]

    def wait_for_claim(self, most: int, why: str = "nobody holds it") -> tuple[int, Election]:
        """The next claim that no such call has given, and when it left. Raises NotKept if none comes in that
        time."""
        begin = self.stage.now

        def claims() -> list[tuple[int, Election]]:
            return self.elections(Operation.CLAIM)[self._claims :]

        if not self.stage.wait_for(lambda: bool(claims()), most):
            wanted = f"it should ask by cycle {begin + most:,}: {why}"
            raise NotKept(self.stage.now, f"no claim of the {self.group.role} role since cycle {begin:,}", wanted)
        found = claims()[0]
        self._claims += 1
        return found

    def skip_claims(self) -> None:
        """Those of before are no business of the next `wait_for_claim`."""
        self._claims = len(self.elections(Operation.CLAIM))

    def wait_for_role(self, most: int) -> None:
        """Let the member be elected. Raises NotKept if it isn't in that time."""
        begin = self.stage.now
        if not self.stage.wait_for(lambda: self.held, most):
            found = f"{BIT[self.group.role].word} of control is 0 since cycle {begin:,}, and its claims are granted"
            raise NotKept(self.stage.now, found, "it should be 1")

    def answer(self, message: Keepalive | Election) -> Keepalive | Election | None:
        """What the grantor answers, now."""
        grantor, rank, now = self.grantor, self.group.rank, self.stage.now
        if isinstance(message, Election):
            return grantor.on_election(rank, message, now)[0]
        answer = grantor.on_keepalive(rank, message, now)[0]
        own = answer.your_discriminator - self.boots_before
        return replace(answer, state=answer.state | self.reluctant, your_discriminator=own)

    def says(self, epoch: int) -> None:
        """A keepalive of the grantor that answers nothing, and names a higher epoch."""
        group, boot = self.group, self.stage.boot
        own = group.me << 16 | boot.boots
        head = (boot.card, 0, 9, group.me, epoch, 0, self.far, own)
        self.stage.hear(
            Keepalive(*head, group.role.code, 0, group.multiplier, 0, group.interval, 0, 0, NO_HOLDER), group.uplink
        )

    def refuses(self, claim: int) -> None:
        """A refusal of the claim that has this number, under no epoch, for no time."""
        group, boot = self.group, self.stage.boot
        head = (boot.card, 0, boot.gpus + 1, group.me, 0, claim, group.me)
        self.stage.hear(Election(*head, Operation.REFUSE.code, group.role.code, 0, 0), group.uplink)

    def _sent(self, sent: FrameOut) -> None:
        message = sent.message
        if sent.port is not self.group.uplink or not isinstance(message, Keepalive | Election):
            return
        if message.role != self.group.role.code:
            return
        self.asked.append((sent.at, message))
        heard = self.hears_claims if isinstance(message, Election) else self.hears_keepalives
        if heard and not self.silent:
            self.stage.after(self.delay, lambda: self._arrived(message))

    def _arrived(self, message: Keepalive | Election) -> None:
        answer = self.answer(message)
        if answer is not None:
            self.stage.after(self.delay, lambda: self.stage.hear(answer, self.group.uplink))
