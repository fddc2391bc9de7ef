"""Contexts of a client at a management port live as long as it is there, whatever becomes of its program."""

import struct
from collections.abc import Iterator

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.host.contexts.command import Command, ContextRef
from ringhil.emulator.host.work import segments
from ringhil.emulator.nvml.answers import NvmlAnswers
from ringhil.emulator.nvml.messages import NvmlTopic, Question
from ringhil.emulator.nvml.peer import PeerProcess, began
from ringhil.emulator.nvml.usage import UsageSampler
from ringhil.emulator.nvml.views import views_of
from ringhil.emulator.scenario import loads
from ringhil.emulator.serial.port.managed_card import ManagedCard
from ringhil.emulator.serial.port.port import ManagementPort
from ringhil.emulator.server import LiveServer
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import decode, encode
from ringhil.protocol.line.framing import Unwrapper, wrap
from ringhil.protocol.line.management import Belongs, Injection, LineFault, Refusal
from ringhil.protocol.wire import FIRST_COMMAND, Compute, Port

GPU, CONTEXT, KEY = 2, 1, 77
PLACE = (GPU, CONTEXT)


class Program:
    """A driver's client, which numbers its commands as the one in C does."""

    def __init__(self, server: LiveServer, card: ManagedCard, name: bytes = b"", key: int = KEY) -> None:
        self.port, self._server, self._key = ManagementPort(card), server, key
        self._id = 0
        self._number = server.kernel.now >> 4
        self.ask(m.HelloRequest(self._next(), 1, 1, name))

    def _next(self) -> int:
        self._id += 1
        return self._id

    def ask(self, request: m.Message) -> m.Message:
        self.port.receive(wrap(encode(request)))
        for _ in range(400):
            for found in Unwrapper().feed(self.port.take(1 << 20)):
                assert isinstance(found, bytes)
                return decode(found)
            self._server.run_to(self._server.kernel.now + 50)
        raise AssertionError(f"no answer to {request}")

    def command(self, compute: Compute, amount: int = 0, *, gpu: int = GPU, wait: int = 2000) -> None:
        """Sends a command; what comes of it is seen in the GPU's registers."""
        card = self._server.cpu.cards[0]
        assert card.entry is not None
        self._number += 1
        payload = Command(compute, self._key, amount).payload()
        route = segments.Route(0, 0, card.entry, gpu, False, card.size + 1, card.epoch)
        unit = FIRST_COMMAND | self._number << 4 | CONTEXT
        for frame in segments.segments(unit, 1, payload, route, compute, CONTEXT):
            self.ask(m.SendRequest(self._next(), card.entry, Port.CPU.code, frame))
        self._server.run_to(self._server.kernel.now + wait)

    def contexts(self) -> list[tuple[int, int, str, int, bytes]]:
        found = list[tuple[int, int, str, int, bytes]]()
        while True:
            each = self.ask(m.ClientContextRequest(self._next(), len(found)))
            assert isinstance(each, m.ClientContextReply)
            if each.number == len(found):
                return found
            found.append((each.gpu, each.context, str(Belongs.of(each.belongs)), each.held, each.name))

    def free(self, gpu: int, context: int) -> m.Message:
        return self.ask(m.FreeContextRequest(self._next(), gpu, context))

    def keep(self, keep: int) -> m.Message:
        return self.ask(m.KeepContextsRequest(self._next(), keep))


@pytest.fixture
def server() -> Iterator[LiveServer]:
    cards = "a: {gpus: 5, host_links: [0, 1]}"
    settings = "settings: {device_memory: 100, census_period: 4000}"
    server = LiveServer(loads(f"server: {{cards: {{{cards}}}, {settings}}}\n"), cells_library())
    yield server
    server.engine.close()


@pytest.fixture
def card(server: LiveServer) -> ManagedCard:
    card = ManagedCard(server, 0)
    server.start()
    while not server.cpu.cards[0].members:
        server.run_to(server.kernel.now + 500)
    return card


@pytest.fixture
def watcher(server: LiveServer, card: ManagedCard) -> Program:
    return Program(server, card, b"watcher")


def held(server: LiveServer, gpu: int = GPU) -> int:
    return server.engine.peek(gpu, "memory_held")


def later(server: LiveServer, cycles: int = 3000) -> None:
    server.run_to(server.kernel.now + cycles)


def running(server: LiveServer) -> bool:
    return bool(server.engine.peek(GPU, "turn"))


def test_what_a_program_had_is_free_when_it_goes(server: LiveServer, card: ManagedCard, watcher: Program) -> None:
    """Killed in the middle of a launch: memory and engine are everybody's again."""
    program = Program(server, card, b"render")
    program.command(Compute.CREATE, 60)
    program.command(Compute.ALLOCATE, 50)
    program.command(Compute.LAUNCH, 1 << 30)
    assert watcher.contexts() == [(*PLACE, "connected", 50, b"render")]
    assert (held(server), running(server)) == (50, True)
    program.port.close()
    later(server)
    assert (watcher.contexts(), held(server), running(server)) == ([], 0, False)
    other = Program(server, card, key=5)  # whoever comes next is no stranger to this context
    other.command(Compute.CREATE, 30)
    other.command(Compute.ALLOCATE, 30)
    assert held(server) == 30


@pytest.mark.parametrize("wait", [0, 20, 100, 300])
def test_a_program_that_goes_before_its_answer_leaves_nothing(
    server: LiveServer, card: ManagedCard, watcher: Program, wait: int
) -> None:
    program = Program(server, card)
    program.command(Compute.CREATE, 60, wait=wait)
    program.command(Compute.ALLOCATE, 50, wait=wait)
    program.port.close()
    later(server)
    assert (watcher.contexts(), held(server)) == ([], 0)


def test_contexts_stay_when_asked_to_and_others_can_free_them(
    server: LiveServer, card: ManagedCard, watcher: Program
) -> None:
    program = Program(server, card, b"lasting")
    program.command(Compute.CREATE, 60)
    program.command(Compute.ALLOCATE, 7)
    assert isinstance(program.keep(1), m.KeepContextsReply)
    assert watcher.contexts() == [(*PLACE, "kept", 7, b"lasting")]
    program.port.close()
    later(server)
    assert watcher.contexts() == [(*PLACE, "left", 7, b"lasting")]
    assert isinstance(watcher.free(*PLACE), m.FreeContextReply)
    assert (watcher.contexts(), held(server)) == ([], 0)


def test_the_next_hello_on_a_line_is_another_client(server: LiveServer, card: ManagedCard, watcher: Program) -> None:
    program = Program(server, card)
    program.command(Compute.CREATE, 60)
    program.command(Compute.ALLOCATE, 50)
    program.ask(m.HelloRequest(900, 1, 1, b"next"))
    later(server)
    assert (watcher.contexts(), held(server)) == ([], 0)


def test_what_cannot_be_freed_or_kept_is_refused(server: LiveServer, card: ManagedCard, watcher: Program) -> None:
    refusals = [watcher.free(2, 1), watcher.free(5, 1), watcher.free(2, 200), watcher.keep(2)]
    found = [(Refusal.of(each.why), each.text) for each in refusals if isinstance(each, m.RefusedReply)]
    assert found == [
        (Refusal.BAD_VALUE, b"context 1 of GPU 2: no client has created it"),
        (Refusal.NO_SUCH_GPU, b"GPU 5: the card has 0 .. 4"),
        (Refusal.BAD_VALUE, b"context 200 of GPU 2: no client has created it"),
        (Refusal.BAD_VALUE, b"keep: found 2; allowed are 0 and 1"),
    ]


def test_a_context_that_another_has_created_is_not_freed(
    server: LiveServer, card: ManagedCard, watcher: Program
) -> None:
    """Whose `create` is refused, as it is there, has nothing that goes with it; nor has who uses it, or destroys it."""
    owner, other = Program(server, card, b"owner"), Program(server, card, b"other", key=5)
    owner.command(Compute.CREATE, 60)
    owner.command(Compute.ALLOCATE, 50)
    other.command(Compute.CREATE, 60)
    other.command(Compute.DESTROY)
    other.port.close()
    later(server)
    assert (watcher.contexts(), held(server)) == ([(*PLACE, "connected", 50, b"owner")], 50)


@pytest.mark.parametrize("goes", [True, False])
def test_contexts_behind_a_cut_are_there_or_go_when_their_gpu_is_back(
    server: LiveServer, card: ManagedCard, watcher: Program, goes: bool
) -> None:
    """A GPU between two cut links is well: it has the contexts still when it is counted again. They are destroyed if
    their client has gone meanwhile."""
    program = Program(server, card)
    program.command(Compute.CREATE, 60)
    program.command(Compute.ALLOCATE, 50)
    links = (GPU - 1, GPU)
    for injection in (Injection.SET, Injection.CLEAR):
        for link in links:
            number = 500 + link + injection.code * 10
            watcher.ask(m.InjectRequest(number, injection.code, LineFault.LINK_CUT.code, link, 0))
        if injection is Injection.SET:
            while GPU in server.cpu.cards[0].members:
                later(server, 500)
            if goes:
                program.port.close()
                later(server, 5000)
            assert (watcher.contexts(), held(server)) == ([(*PLACE, "unreached", 50, b"")], 50)
    while GPU not in server.cpu.cards[0].members:
        later(server, 500)
    later(server, 5000)
    there = [] if goes else [(*PLACE, "connected", 50, b"")]
    assert (watcher.contexts(), held(server)) == (there, 0 if goes else 50)


def test_a_program_is_a_process_whose_memory_counts_in_the_root(server: LiveServer) -> None:
    views = views_of(server)
    usage = UsageSampler(server, views)
    answers, me = NvmlAnswers(server, views, usage), PeerProcess(1, 0, began(1) or 0)
    card = ManagedCard(server, 0)
    server.start()
    while not usage.begun:
        later(server, 500)

    def told() -> tuple[str, list[tuple[int, str]]]:
        read = list[str]()
        server.process_groups.read("gpu.memory.current", read.append)
        uses = struct.iter_unpack("=QQII", answers.answer(me, Question(NvmlTopic.PROCESSES, GPU)).data)
        names = [(use[0], answers.answer(me, Question(NvmlTopic.PROCESS_NAME, GPU, use[2])).data) for use in uses]
        return read[0].strip(), [(memory, name.rstrip(b"\0").decode()) for memory, name in names]

    assert told() == ("0", [])
    program = Program(server, card, b"render \x1b[2J")
    program.command(Compute.CREATE, 60)
    program.command(Compute.ALLOCATE, 50)
    assert told() == (str(50 << 20), [(50 << 20, "render \\x1b[2J")])
    program.port.close()
    later(server)
    assert told() == ("0", [])


def test_a_context_of_the_server_s_own_stays_whoever_wanted_to_create_it(
    server: LiveServer, card: ManagedCard, watcher: Program
) -> None:
    """Even with the same key."""
    place = ContextRef(0, GPU, CONTEXT)
    for command in (Command(Compute.CREATE, KEY, 60), Command(Compute.ALLOCATE, KEY, 50)):
        server.cpu.driver.ask(place, command, lambda answer: None)
    later(server)
    program = Program(server, card)
    program.command(Compute.CREATE, 60)
    program.port.close()
    later(server)
    assert (watcher.contexts(), held(server)) == ([], 50)
