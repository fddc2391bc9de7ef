"""A context of a driver outside lives as long as its client, whatever becomes of commands, answers and GPUs."""

from dataclasses import dataclass

import hypothesis.strategies as st
from hypothesis import given, settings

from ringhil.emulator.host.contexts.command import ContextRef
from ringhil.emulator.host.contexts.outside import OutsideClient, OutsideContexts
from ringhil.protocol import wire
from ringhil.protocol.frames import Acknowledgement, Result, Work
from ringhil.protocol.wire import AckStatus, Compute, ResultStatus

from .desk import GPU, PATIENCE, Desk

CODES = {each.code: each for each in Compute}
ALL, OTHERS, LIMIT, PID = (0, 1, 2, 3), (0, 1, 3), 500, 4194305


@dataclass
class Held:
    key: int
    client: OutsideClient
    pages: int = 0


class Outside(Desk):
    """Clients at management ports, and the GPU that they ask. Each waits for its answer, and asks for it again."""

    def __init__(self) -> None:
        super().__init__()
        self.known = OutsideContexts(self.driver, lambda: PID)
        self.there: dict[int, Held] = {}  # what the GPU has
        self.left = set[OutsideClient]()
        self.waiting: dict[int, tuple[OutsideClient, Work]] = {}
        self.unheard = set[int]()  # of which nobody has heard the last: the GPU has failed, or who has asked is gone
        self.reached = True
        self._answers: dict[int, Result | Acknowledgement] = {}
        self._unit = 0x90000000
        self._looked_at = 0

    def owner(self, context: int) -> OutsideClient | None:
        """Whoever others leave it to: they have contexts of their own."""
        asked = self.waiting.get(context)
        held = self.there.get(context)
        return asked[0] if asked else held.client if held and held.client not in self.left else None

    def send(self, client: OutsideClient, context: int, compute: Compute, key: int) -> None:
        self._unit = max([self._unit, *(work.unit for work in self.port.sent)]) + 1
        head = wire.Command.build({"key": key, "amount": LIMIT, "slice": 0, "priority": 0, "state": 0})
        work = Work(0, 0, 9, GPU, 1, self._unit, 0, 1, 0, len(head), len(head), compute.code, 0, context, bytes(head))
        self.waiting[context] = client, work

    def carry_on(self, context: int, *, arrives: bool, heard: bool) -> None:
        """What waits for its answer goes out, or once more."""
        client, work = self.waiting[context]
        self.known.sent(client, ContextRef(0, GPU, context), work)
        if self.reached and arrives:
            answer = self._carried_out(work, client)
            if heard:
                del self.waiting[context]
                self.unheard.discard(context)
                self.driver.mail(answer)

    def count(self, *members: int) -> None:
        self.card.members = members
        self.driver.counted(self.card)

    def fail(self) -> None:
        self.unheard |= {*self.there}
        self.there.clear()
        self._answers.clear()

    def settle(self) -> None:
        """The CPU's own commands are answered, where the GPU can be reached."""
        while self.reached and self._looked_at < len(self.port.sent):
            work = self.port.sent[self._looked_at]
            self._looked_at += 1
            self.unheard.discard(work.context)
            self.driver.mail(self._carried_out(work, OutsideClient()))

    def _carried_out(self, work: Work, client: OutsideClient) -> Result | Acknowledgement:
        """Once; the same answer to the same number."""
        known = self._answers.get(work.context)
        if known is None or known.unit != work.unit:
            self._answers[work.context] = known = self._answer(work, client)
        return known

    def _answer(self, work: Work, client: OutsideClient) -> Result | Acknowledgement:
        compute, key, held = CODES[work.compute], wire.Command.parse(work.payload).key, self.there.get(work.context)
        why = None
        if compute is Compute.CREATE:
            why = AckStatus.EXISTS if held else None
            self.there.setdefault(work.context, Held(key, client))
        elif held is None or held.key != key:
            why = AckStatus.FOREIGN if held else AckStatus.NO_CONTEXT
        elif compute is Compute.DESTROY:
            del self.there[work.context]
        else:
            held.pages += 9
        if why is not None:
            return Acknowledgement(0, 0, 9, 0, 1, work.unit, GPU, 1, why.code, 0, 16)
        pages = self.there[work.context].pages if work.context in self.there else 0
        status = ResultStatus.DONE.code
        return Result(0, 0, 9, 0, 1, work.unit, GPU, 1, status, 0, 0, pages << 32 | LIMIT, 16, 40)


@settings(max_examples=200)
@given(st.data())
def test_the_gpu_has_the_contexts_of_clients_that_are_there_or_keep_theirs_and_these_are_known(
    data: st.DataObject,
) -> None:
    desk, clients = Outside(), [OutsideClient("x"), OutsideClient("y")]
    for _ in range(data.draw(st.integers(4, 16))):
        context, number = data.draw(st.integers(0, 1)), data.draw(st.integers(0, 1))
        owned = desk.owner(context)
        ask = ("again",) if context in desk.waiting else ("send",) if owned in {None, clients[number]} else ()
        act = data.draw(st.sampled_from((*ask * 4, "leave", "lose" if desk.reached else "find")))
        if act == "send":
            held = desk.there.get(context)
            others = (Compute.ALLOCATE, Compute.ALLOCATE, Compute.DESTROY)
            compute = data.draw(st.sampled_from((Compute.CREATE, *others) if held else (Compute.CREATE, *others[-1:])))
            desk.send(
                clients[number],
                context,
                compute,
                data.draw(st.sampled_from((held.key, held.key, 0, 1) if held else (0, 1))),
            )
        if act in {"send", "again"}:
            key = wire.Command.parse(desk.waiting[context][1].payload).key
            # Nobody knows whose a context with key 0 is that may be there; and one key is known of each context.
            arrives, heard = data.draw(st.integers(0, 2)) > 0, data.draw(st.integers(0, 2)) > 0
            desk.carry_on(context, arrives=arrives, heard=heard or key == 0 or context in desk.unheard)
        elif act == "leave":
            waits = {at for at, (client, _) in desk.waiting.items() if client is clients[number]}
            clients[number].keeps = not waits and data.draw(st.booleans())  # nobody may have said what it has
            desk.unheard |= waits
            desk.waiting = {at: each for at, each in desk.waiting.items() if at not in waits}
            desk.left.add(clients[number])
            desk.known.gone(clients[number])
            clients[number] = OutsideClient("z")
        elif act == "lose":
            desk.reached = False
            if data.draw(st.booleans(), label="it fails"):
                desk.fail()
            desk.count(*OTHERS)
        elif act == "find":
            desk.reached = True
            desk.count(*ALL)
        desk.settle()
        desk.port.pass_time(1)
        assert desk.known.held() == sum(each.held for each in desk.known) * desk.reached
    desk.reached = True
    desk.count(*OTHERS)
    desk.count(*ALL)
    desk.settle()
    for context in [*desk.waiting]:
        desk.carry_on(context, arrives=True, heard=True)
    for _ in range(4):
        desk.settle()
        desk.port.pass_time(8 * PATIENCE)
    assert all(held.client not in desk.left or held.client.keeps for held in desk.there.values())
    known = {each.place.context: (each.key, each.client, each.held) for each in desk.known}
    there = {context: (held.key, held.client, held.pages) for context, held in desk.there.items()}
    assert all(client.number > 0 and client.pid == PID for _, client, _ in known.values())
    for context in {*known, *there} - desk.unheard:
        assert known.get(context) == there.get(context)


def test_who_has_gone_with_a_context_that_may_not_be_there_leaves_its_place_to_the_next_client() -> None:
    """None of the answers comes."""
    desk, first, second = Outside(), OutsideClient("x"), OutsideClient("y")
    for client, key, arrives in ((first, 0, False), (second, 1, True)):
        desk.send(client, 0, Compute.CREATE, key)
        desk.carry_on(0, arrives=arrives, heard=False)
        desk.known.gone(client)
    assert desk.there
    desk.settle()
    assert not desk.there


def test_a_context_of_somebody_elses_stays_though_a_client_that_goes_has_asked_for_it_by_the_same_key() -> None:
    desk, client, others = Outside(), OutsideClient("x"), Held(5, OutsideClient("y"))
    desk.there[0] = others
    desk.send(client, 0, Compute.CREATE, 5)
    desk.carry_on(0, arrives=True, heard=True)
    desk.known.gone(client)
    desk.settle()
    assert desk.there == {0: others}
