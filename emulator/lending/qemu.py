"""The attachment `qemu`: guests of QEMU without KVM and VFIO get emulated GPUs, plugged in by QMP.

A GPU is a device of two functions: its registers are answered here (card_server), and its memory is shared with the
guest, which reads and writes it without the server. Neither has a name in a file system: when QEMU and this process are
gone, so are they.
"""

import math
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ringhil.emulator.engine.library import Library
from ringhil.emulator.lending.attachment import AttachedMeters, AttachmentError, GuestState, LendableGpu
from ringhil.emulator.lending.card_server import DEVICE, VENDOR, CardServer
from ringhil.emulator.lending.lent_card import CardMeters, LentCard
from ringhil.emulator.lending.mailbox import CardMailbox
from ringhil.emulator.lending.pci import PciAddress
from ringhil.emulator.lending.proxy_probe import why_no_proxy
from ringhil.emulator.lending.qmp import Qmp, QmpGoneError, QmpRefusedError

MEMORY = 16 << 20  # bytes that a guest reaches
_FIRST_SLOT, _SLOTS = 0x10, 16  # high ones: firmware gives the low ones to what is there at boot
_PREFIX = "ringhil"
_DOWN = ("shutdown", "guest-panicked", "internal-error")
_AGAIN = 0.05  # seconds until a guest is asked again: one that is busy with its bus answers slowly
_FRESH = 0.2  # seconds for which what a guest was seen to have is taken for true
_MERCY = 10.0  # seconds in which a guest lets a card go that it was asked for


def qemu_gpus(gpus: Iterable[LendableGpu], memory: int = MEMORY) -> list[LendableGpu]:
    """The same GPUs, as a guest of this attachment finds them. `memory`: bytes, a power of two."""
    return [
        replace(
            gpu,
            functions=tuple(PciAddress(0, 0, _FIRST_SLOT + place % _SLOTS, function) for function in range(2)),
            memory=memory,
            pci_id=f"{VENDOR:04x}:{DEVICE:04x}",
        )
        for place, gpu in enumerate(gpus)
    ]


class QemuAttachment:
    """`guests`: a folder with a QMP socket for each guest, `NODE.qmp`. `settings`: registers of a GPU that its lender
    sets. `joules`: what a GPU has taken. `tell`: gets a line where something is not as it should be. `probe`: why a
    QEMU can't have registers. `monotonic`: seconds."""

    def __init__(
        self,
        gpus: Sequence[LendableGpu],
        guests: Path,
        library: Library,
        *,
        settings: Callable[[str], Mapping[str, int]] = lambda gpu: {},
        joules: Callable[[CardMeters], float] = lambda meters: 0.0,
        tell: Callable[[str], None] = lambda line: None,
        probe: Callable[[str], str] = why_no_proxy,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._gpus, self._guests, self._library = list(gpus), guests, library
        self._settings, self._joules, self._tell, self._probe, self._monotonic = (
            settings,
            joules,
            tell,
            probe,
            monotonic,
        )
        self._names = {gpu.name: gpu for gpu in gpus}
        self._cards: dict[str, LentCard] = {}  # of the GPUs that are bound
        self._past: dict[str, CardMeters] = {}  # of those that were
        self._lines: dict[str, Qmp] = {}  # by guest
        self._plugged: dict[str, tuple[str, CardServer | CardMailbox]] = {}  # by GPU
        self._seen: dict[str, frozenset[str]] = {}  # by guest, what it had when it last answered
        self._seen_at: dict[str, float] = {}
        self._again_at: dict[str, float] = {}  # by GPU
        self._asked: dict[str, float] = {}  # when guests were asked to let a GPU go
        self._pulled: set[tuple[str, str]] = set()  # GPUs and guests that still show what was pulled out
        self._probes: dict[str, _Probe] = {}  # by program

    # ------------------------------------------------------------------------------------------------ of an Attachment

    def gpus(self) -> Sequence[LendableGpu]:
        """All."""
        return self._gpus

    def guest(self, node: str) -> GuestState:
        """See Attachment."""
        if not self._is_socket(node):
            return GuestState.UNKNOWN
        try:
            status = self._status(node)
        except QmpGoneError:
            self._seen[node] = frozenset()
            return GuestState.DOWN
        except AttachmentError:  # it doesn't answer now, but there it is
            return GuestState.UP
        return GuestState.DOWN if status in _DOWN else GuestState.UP

    def held(self) -> Mapping[str, str]:
        """See Attachment. Of a guest that doesn't answer, what it had when it last did."""
        found = {}
        for node in self._nodes():
            old = self._monotonic() - self._seen_at.get(node, -math.inf) > _FRESH
            for gpu in self._devices(node) if old else self._seen[node]:
                if (gpu, node) not in self._pulled:
                    found[gpu] = node
        return found

    def bound(self) -> frozenset[str]:
        """See Attachment."""
        return frozenset(self._cards)

    def bind(self, gpu: str) -> bool:
        """See Attachment."""
        if gpu not in self._cards:
            try:
                self._cards[gpu] = LentCard(self._library, self._names[gpu].memory, self._settings(gpu))
            except OSError as error:
                raise AttachmentError(f"{gpu}: no memory for it: {error.strerror or error}") from None
        return True

    def attach(self, gpu: str, node: str) -> bool:
        """See Attachment."""
        card = self._cards.get(gpu)
        if card is None:
            raise AttachmentError(f"{gpu}: the server's driver has it; bind it first")
        if self._waits(gpu):
            return False
        holder = self.held().get(gpu, node)
        if holder != node:
            raise AttachmentError(f"{gpu}: {holder} has it; detach it first")
        there = gpu in self._devices(node)
        served = self._plugged.get(gpu)
        if there and served is not None and served[1].alive:
            return True
        if there:  # of a server before this one, or pulled out: it answers no more
            self._unplug(gpu, node)
            self._again_at[gpu] = self._monotonic() + _AGAIN
            return False
        why = self._no_proxy(node)
        if why is None:
            return False
        self._stop_serving(gpu)
        self._pulled.discard((gpu, node))
        self._plug(gpu, node, card, proxy=not why)
        return True

    def detach(self, gpu: str) -> bool:
        """See Attachment. From a guest that doesn't let go the card is pulled out: it reads ones, and keeps memory that
        is nobody's any more."""
        if self._waits(gpu):
            return False
        nodes = [node for node in self._nodes() if gpu in self._devices(node) and (gpu, node) not in self._pulled]
        since = self._asked.setdefault(gpu, self._monotonic())
        for node in nodes:
            if self._monotonic() - since < _MERCY:
                with suppress(AttachmentError):  # it doesn't answer: it is waited for
                    self._unplug(gpu, node)
            if gpu not in self._devices(node):
                continue
            if self._monotonic() - since < _MERCY:
                self._again_at[gpu] = self._monotonic() + _AGAIN
                return False
            self._pull(gpu, node)
        self._stop_serving(gpu)
        del self._asked[gpu]
        return True

    def reset(self, gpu: str) -> bool:
        """See Attachment."""
        self._detached(gpu).reset()
        return True

    def scrub(self, gpu: str) -> bool:
        """See Attachment."""
        return self._detached(gpu).scrub()

    def unbind(self, gpu: str) -> bool:
        """See Attachment."""
        if gpu in self._cards:
            card = self._detached(gpu)
            self._past[gpu] = self._all(gpu)
            del self._cards[gpu]
            card.close()
        return True

    def meters(self, gpu: str) -> AttachedMeters:
        """See Attachment."""
        found = self._all(gpu)
        return AttachedMeters(found.busy, self._joules(found))

    def attend(self) -> None:
        """See Attachment."""
        for _, served in self._plugged.values():
            served.attend()

    def close(self) -> None:
        """A card that a guest holds goes with this process: it reads ones from now on."""
        for gpu in list(self._plugged):
            self._stop_serving(gpu)
        for card in self._cards.values():
            card.close()
        for line in self._lines.values():
            line.close()
        for probe in self._probes.values():
            probe.join()
        self._cards, self._lines = {}, {}

    def card(self, gpu: str) -> LentCard:
        """Of a GPU that is bound."""
        return self._cards[gpu]

    # ------------------------------------------------------------------------------------------------------- the guests

    def _nodes(self) -> list[str]:
        try:
            return sorted(path.stem for path in self._guests.glob("*.qmp") if path.is_socket())
        except OSError:
            return []

    def _status(self, node: str) -> str:
        found = self._ask(node, "query-status")
        return str(found.get("status", "")) if isinstance(found, dict) else ""

    def _is_socket(self, node: str) -> bool:
        try:
            return (self._guests / f"{node}.qmp").is_socket()
        except (OSError, ValueError):
            return False

    def _ask(self, node: str, command: str, **arguments: Any) -> Any:
        """A connection is kept; one that failed is given up, as an answer may still come by it."""
        try:
            return self._line(node).ask(command, **arguments)
        except QmpRefusedError:
            raise
        except AttachmentError:
            if node in self._lines:
                self._lines.pop(node).close()
            raise

    def _line(self, node: str) -> Qmp:
        if node not in self._lines:
            self._lines[node] = Qmp(self._guests / f"{node}.qmp")
        return self._lines[node]

    def _devices(self, node: str) -> frozenset[str]:
        """GPUs that a guest shows."""
        try:
            listed = self._ask(node, "qom-list", path="/machine/peripheral")
        except QmpGoneError:
            self._seen[node] = frozenset()
        except AttachmentError:
            pass
        else:
            self._seen_at[node] = self._monotonic()
            ids = {str(each.get("name", "")) for each in listed if isinstance(each, dict)}
            self._seen[node] = frozenset(gpu for gpu in self._names if {_id(gpu, 0), _id(gpu, 1)} & ids)
        self._pulled -= {(gpu, at) for gpu, at in self._pulled if at == node and gpu not in self._seen.get(node, ())}
        return self._seen.get(node, frozenset())

    def _plug(self, gpu: str, node: str, card: LentCard, *, proxy: bool) -> None:
        """The guest stands still meanwhile: one that reads the configuration space of a proxy device that QEMU is just
        making waits for it, and it for the guest."""
        memory, slot = _id(gpu, "memory"), f"{self._names[gpu].functions[0].slot:#x}"
        running = self._status(node) == "running"
        served: CardServer | CardMailbox
        if proxy:
            ours, theirs = socket.socketpair()
            served = CardServer(card, ours)
        else:
            served = CardMailbox(card)
        try:
            if running:
                self._ask(node, "stop")
            if proxy:
                with theirs:
                    self._ask(node, "getfd", files=[theirs.fileno()], fdname=_id(gpu, "line"))
            with suppress(QmpRefusedError):  # what is left of a server that ended just here
                self._ask(node, "object-del", id=memory)
                running |= self._status(node) == "paused"
            file = f"/proc/{os.getpid()}/fd/{card.memory_file}"
            backend = {"qom_type": "memory-backend-file", "id": memory, "size": card.memory, "share": True}
            self._ask(node, "object-add", **backend, mem_path=file)
            peer: dict[str, object] = {"driver": "ivshmem-plain", "memdev": memory, "bus": "pci.0"}
            if proxy:
                self._ask(node, "device_add", id=_id(gpu, 1), **peer, addr=f"{slot}.1")
                line = {"driver": "x-pci-proxy-dev", "fd": _id(gpu, "line"), "bus": "pci.0", "multifunction": True}
                self._ask(node, "device_add", id=_id(gpu, 0), **line, addr=f"{slot}.0")
            else:
                self._ask(node, "device_add", id=_id(gpu, 0), **peer, addr=f"{slot}.0")
        except AttachmentError as error:
            served.close()
            self._clear(gpu, node)
            raise AttachmentError(f"{gpu}: {node} doesn't take it: {error}") from None
        finally:
            if running:
                with suppress(AttachmentError):
                    self._ask(node, "cont")
        self._plugged[gpu] = node, served
        self._seen[node] = self._seen.get(node, frozenset()) | {gpu}

    def _waits(self, gpu: str) -> bool:
        """A step isn't asked again at once."""
        if self._monotonic() < self._again_at.get(gpu, -math.inf):
            return True
        self._again_at.pop(gpu, None)
        return False

    def _unplug(self, gpu: str, node: str) -> None:
        """Ask the guest to let it go, whose answer comes later, and clear what is behind it when it has."""
        if gpu not in self._plugged and self._status(node) == "paused":  # a server that ended while it plugged this in
            self._ask(node, "cont")
        for function in (0, 1):
            with suppress(QmpRefusedError):  # it was asked before, or has let go
                self._ask(node, "device_del", id=_id(gpu, function))
                break
        if gpu not in self._devices(node):
            self._clear(gpu, node)

    def _clear(self, gpu: str, node: str) -> None:
        for command, argument in (
            ("object-del", {"id": _id(gpu, "memory")}),
            ("closefd", {"fdname": _id(gpu, "line")}),
        ):
            with suppress(AttachmentError):
                self._ask(node, command, **argument)

    def _pull(self, gpu: str, node: str) -> None:
        self._tell(f"{gpu}: {node} did not let it go within {_MERCY:g} s; it was pulled out")
        self._pulled.add((gpu, node))
        if gpu in self._cards:
            self._cards[gpu].renew_memory()

    def _stop_serving(self, gpu: str) -> None:
        _, served = self._plugged.pop(gpu, ("", None))
        if served is not None:
            served.close()
            if served.ended:
                self._tell(f"{gpu}: the guest's line was closed: {served.ended}")

    # ----------------------------------------------------------------------------------------------------------------

    def _detached(self, gpu: str) -> LentCard:
        card = self._cards.get(gpu)
        if card is None:
            raise AttachmentError(f"{gpu}: the server's driver has it; bind it first")
        node, served = self._plugged.get(gpu, ("", None))
        if served is not None and served.alive:
            raise AttachmentError(f"{gpu}: {node} has it; detach it first")
        return card

    def _all(self, gpu: str) -> CardMeters:
        past, card = self._past.get(gpu, CardMeters(0, 0, 0)), self._cards.get(gpu)
        return past if card is None else past + card.meters

    def _no_proxy(self, node: str) -> str | None:
        """Why the QEMU of a guest can't have a card's registers; "": it can; None: that is being found out."""
        program = self._program(node)
        if program not in self._probes:
            self._probes[program] = _Probe(self._probe, program)
        why = self._probes[program].result
        if why and not self._probes[program].told:
            self._probes[program].told = True
            self._tell(f"{program}: {why}; guests get memory alone, and reach registers by a mailbox in it")
        return why

    def _program(self, node: str) -> str:
        """The QEMU that runs a guest: who listens at its socket."""
        with suppress(OSError):
            return str(Path(f"/proc/{self._line(node).pid}/exe").readlink())
        return "qemu-system-x86_64"


class _Probe:
    """Runs in a thread, as it takes a moment. `result`: None as long as it does."""

    def __init__(self, probe: Callable[[str], str], program: str) -> None:
        self.result: str | None = None
        self.told = False
        self._thread = threading.Thread(target=self._run, args=(probe, program), daemon=True)
        self._thread.start()

    def join(self) -> None:
        self._thread.join()

    def _run(self, probe: Callable[[str], str], program: str) -> None:
        self.result = probe(program)


def _id(gpu: str, part: int | str) -> str:
    return f"{_PREFIX}.{gpu}.{part}"
