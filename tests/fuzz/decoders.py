"""Who reads bytes that others have made: for each a call that takes any bytes, and the errors that it may raise."""

import socket
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ringhil.emulator import ScenarioError, load_cluster, load_variants
from ringhil.emulator.dap.wire import Incoming, WireError, decoded
from ringhil.emulator.nvml.messages import MessageFault, NvmlAnswer, Question
from ringhil.emulator.serial.server.rfc2217 import Rfc2217Connection
from ringhil.emulator.serial.session.format import SessionError, load_session
from ringhil.emulator.testbench import Stimulus, StimulusError
from ringhil.protocol import FrameError, codec
from ringhil.protocol.line import codec as management
from ringhil.protocol.line import firmware_codec as firmware_loop
from ringhil.protocol.line.framing import Unwrapper
from ringhil.protocol.line.packing import MessageError

CORPUS = Path(__file__).resolve().parent / "corpus"


@dataclass(frozen=True)
class Decoder:
    """`read` is given the bytes, and a file that it may write them to. `executions`: so many in a few seconds."""

    read: Callable[[bytes, Path], object]
    errors: tuple[type[Exception], ...]
    executions: int = 20_000

    def fed(self, data: bytes, file: Path) -> None:
        """Nothing, unless there is a mistake: then whatever it raises. What it says of bad input is a line."""
        try:
            self.read(data, file)
        except self.errors as error:
            if "\n" in str(error):
                raise AssertionError(f"several lines: {error}") from error


def _from_file(read: Callable[[Path], object]) -> Callable[[bytes, Path], object]:
    def written(data: bytes, file: Path) -> object:
        file.write_bytes(data)
        return read(file)

    return written


def _scenario(file: Path) -> None:
    for _ in islice(load_variants(file), 3):
        pass


def _debugger(data: bytes) -> None:
    for body in Incoming().feed(data):
        decoded(body)


def _serial_server(data: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as peer:
        line = Rfc2217Connection(server.accept()[0])
        peer.sendall(data[: 1 << 12])
        peer.shutdown(socket.SHUT_WR)
        while line.read() is not None:
            pass
        line.close()


DECODERS = {
    "frame": Decoder(lambda data, _: codec.decode(data, check=False), (FrameError,)),
    "management": Decoder(lambda data, _: management.decode(data), (MessageError,)),
    "firmware-loop": Decoder(lambda data, _: firmware_loop.decode(data), (MessageError,)),
    "actions": Decoder(lambda data, _: firmware_loop.taken_apart(data), (MessageError,)),
    "framing": Decoder(lambda data, _: Unwrapper().feed(data), ()),
    "scenario": Decoder(_from_file(_scenario), (ScenarioError,), 2_000),
    "cluster": Decoder(_from_file(load_cluster), (ScenarioError,), 2_000),
    "session": Decoder(_from_file(load_session), (SessionError,), 2_000),
    "stimulus": Decoder(lambda data, _: Stimulus.from_json(data.decode(errors="replace")), (StimulusError,)),
    "debugger": Decoder(lambda data, _: _debugger(data), (WireError, ValueError)),
    "serial-server": Decoder(lambda data, _: _serial_server(data), (), 2_000),
    "monitoring": Decoder(lambda data, _: Question.unpacked(data), (MessageFault,)),
    "monitoring-answer": Decoder(lambda data, _: NvmlAnswer.unpacked(data), (MessageFault,)),
}
