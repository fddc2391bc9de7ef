"""The request API over HTTP in front of a `World`, whose time passes in a thread."""

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ringhil.emulator.lending.desk import LoanDesk
from ringhil.emulator.lending.handover import HandoverFolder
from ringhil.emulator.lending.loans import IdleTimes
from ringhil.emulator.lending.office import LoanOffice
from ringhil.emulator.lending.rates import RequestRate
from ringhil.emulator.lending.web import application
from ringhil.emulator.web_server import MOST_CONNECTIONS, TlsFiles, WebServer

from .world import IDLE, World

TOKEN = "the-operators-token-of-these-tests"
PLENTY = RequestRate(1e6, 1e6)


class Answered(NamedTuple):
    status: int
    document: Any
    headers: dict[str, str]


class Served:
    """Asks over HTTP."""

    def __init__(self, web: WebServer, world: World) -> None:
        self.web, self.world, self.url = web, world, web.url

    def ask(self, method: str, path: str, body: Any = None, *, token: str | None = TOKEN, **headers: str) -> Answered:
        """`body`: bytes as they are, anything else as JSON."""
        line = http.client.HTTPConnection("127.0.0.1", self.web.port, timeout=30)
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        try:
            line.request(method, path, data, headers)
            answer = line.getresponse()
            text = answer.read()
        finally:
            line.close()
        return Answered(answer.status, json.loads(text) if text else None, dict(answer.getheaders()))


@contextmanager
def served(
    folder: Path,
    rate: RequestRate = PLENTY,
    most: int = MOST_CONNECTIONS,
    tls: TlsFiles | None = None,
    data: Path | None = None,
    idle: IdleTimes = IDLE,
) -> Iterator[Served]:
    world = World(folder, idle=idle)
    desk, web = LoanDesk(), WebServer("127.0.0.1:0", most, tls)
    office = LoanOffice(world.loans, 1e-6)
    ended = threading.Event()
    wrong: list[BaseException] = []

    def play() -> None:
        try:
            while not ended.is_set():
                desk.attend()
                world.pass_time(1)
                office.turn()
                world.check()
                time.sleep(0.001)
        except BaseException as error:
            wrong.append(error)

    thread = threading.Thread(target=play)
    thread.start()
    web.begin(application(office, desk, TOKEN, rate, web.used, None if data is None else HandoverFolder(data)))
    try:
        yield Served(web, world)
    finally:
        ended.set()
        thread.join()
        desk.close()
        web.close()
        world.database.close()
    assert not wrong, wrong[0]
