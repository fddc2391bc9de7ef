"""Where the workers are: started here, found at the address of a scheduler, or asked of a batch system."""

import contextlib
import logging
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from ringhil.emulator.campaign.dask import ClusterError
from ringhil.emulator.campaign.dask.jobqueue import JobQueue

LOCAL = "local"
_ADDRESS = re.compile(r"(tcp|tls)://[^\s/:]+:[0-9]{1,5}|(tcp|tls)://\[[0-9a-fA-F:.]+\]:[0-9]{1,5}")
_CONNECT = 10.0  # seconds
_WAIT = 30.0  # seconds for a first worker, or for another one when all are gone
_MISSING = "nobody is there to play, for {:g} seconds; start a worker"
# What Dask does by the clock, for pages that nobody looks at. Without it, a worker that waits for the end of a batch
# takes 0.4 % of a processor, not 4 %.
_QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}
_NEEDED = "needs packages that are not installed ({}): pip install 'ringhil[cluster]'"


@dataclass
class Cluster:
    """`client`: of Dask. `expected`: workers that are waited for before anything is played; `wait`: seconds without any
    worker after which it ends, and `missing` what is said then. `shared`: the workers are on this machine. `refused` is
    told each worker that may not play, in one line."""

    name: str
    client: Any
    expected: int
    wait: float
    missing: str
    shared: bool
    refused: Callable[[str], None]
    opened: ExitStack

    def close(self) -> None:
        """End what was started for it, and leave what was there."""
        self.opened.close()


def check(where: str) -> None:
    """Raises ClusterError when `where` is no cluster, or there is no Dask."""
    if where != LOCAL and not _ADDRESS.fullmatch(where):
        if "://" in where:
            raise ClusterError(f"--cluster: found {where!r}; allowed is tcp://HOST:PORT or tls://HOST:PORT")
        JobQueue.read(Path(where)).check()
    missing = [name for name in ("distributed", "dask_jobqueue") if find_spec(name) is None]
    if missing:
        raise ClusterError(f"--cluster {_NEEDED.format(', '.join(missing))}")


def connect(where: str, jobs: int, refused: Callable[[str], None] = lambda line: None) -> Cluster:
    """The cluster that `where` names; `jobs`: workers of a local one. Raises ClusterError."""
    check(where)
    _be_silent()
    with ExitStack() as opened:
        import dask

        opened.enter_context(dask.config.set(_QUIET))
        if where == LOCAL:
            # Python's spawn inherits what is blocked: Ctrl-C, which reaches all processes of a terminal, is ours alone.
            with _interrupts_later():
                client = _client(_local(jobs, opened), where, opened)
            return Cluster(where, client, jobs, 2 * _WAIT, _MISSING.format(2 * _WAIT), True, refused, opened.pop_all())
        if _ADDRESS.fullmatch(where):
            client = _client(where, where, opened, _security(where) if where.startswith("tls:") else None)
            return Cluster(where, client, 0, _WAIT, _MISSING.format(_WAIT), False, refused, opened.pop_all())
        queue = JobQueue.read(Path(where))
        with _interrupts_later():
            client = _client(queue.start(opened), where, opened)
        queue.submit(refused)
        return Cluster(where, client, 1, queue.wait, queue.missing, False, refused, opened.pop_all())


def _local(workers: int, opened: ExitStack) -> Any:
    from distributed import LocalCluster

    cluster = LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        # Its pages can't be left out, so they get any free port: a second campaign would be told that 8787 is taken.
        dashboard_address="127.0.0.1:0",
        memory_limit=0,  # what plays is another process, which its nanny doesn't measure
        silence_logs=logging.CRITICAL,
    )
    opened.callback(cluster.close)
    return cluster


def _client(cluster: Any, name: str, opened: ExitStack, security: Any = None) -> Any:
    import dask
    from distributed import Client

    # What every worker is told once is larger than Dask likes a task to be.
    opened.enter_context(dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}))
    try:
        client = Client(cluster, timeout=_CONNECT, set_as_default=False, security=security)
    except (OSError, TimeoutError, TypeError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise ClusterError(f"--cluster {name}: no Dask scheduler can be reached there: {reason}") from error
    opened.callback(lambda: _closed(client))
    return client


def _closed(client: Any) -> None:
    with contextlib.suppress(Exception):
        client.close(timeout=5)


@contextmanager
def _interrupts_later() -> Iterator[None]:
    # It unblocks them where it is started.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _be_silent() -> None:
    """stderr is for our own words; what Dask has to say of lost workers is seen with -v, in them."""
    import distributed  # noqa: F401

    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


_TLS_KEYS = ("ca-file", "client.cert", "client.key")
_TLS = "distributed.comm.tls"


def _security(where: str) -> Any:
    """What a Dask client shows to the scheduler at `where`, and asks of it. Raises ClusterError."""
    import dask
    from distributed.security import Security

    given = {key: dask.config.get(f"{_TLS}.{key}", None) for key in _TLS_KEYS}
    named = ", ".join(f"{key}: {value}" for key, value in given.items())
    try:
        found = Security()
        context = found.get_connection_args("client")["ssl_context"]
    except (OSError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ClusterError(f"--cluster {where}: {_TLS} of Dask's configuration: found {named}: {reason}") from error
    if context is None:
        raise ClusterError(
            f"--cluster {where}: {_TLS} of Dask's configuration: found {named}; needed are ca-file and client.cert"
        )
    return found
