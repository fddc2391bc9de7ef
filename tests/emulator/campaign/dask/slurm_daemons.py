"""A real Slurm on this machine alone: munged, slurmctld and slurmd with a key, ports and folders of their own.

It needs Debian's packages slurmctld, slurmd, slurm-client and munge; none of their services, no cgroups, no database.
"""

import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

COMMANDS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo")
QUEUE = "short"
_START = 60.0  # seconds
_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
_CONFIGURATION = """
ClusterName=ringhil
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/socket
CredType=cred/munge
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ReturnToService=2
MailProg=/bin/true
KillWait=2
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 RealMemory=8000 State=UNKNOWN
PartitionName={queue} Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> list[str]:
    """Commands of Slurm that aren't installed here."""
    return [name for name in COMMANDS if shutil.which(name, path=_PATH) is None]


class Slurm:
    """`configuration`: the file that SLURM_CONF has to name."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._all = folder, list[subprocess.Popen[bytes]]()
        self.configuration = folder / "slurm.conf"
        (folder / "state").mkdir()
        (folder / "spool").mkdir()
        (folder / "key").write_bytes(secrets.token_bytes(1024))
        (folder / "key").chmod(0o400)
        host = socket.gethostname().partition(".")[0]
        text = _CONFIGURATION.format(host=host, user=getpass.getuser(), folder=folder, ports=_ports(2), queue=QUEUE)
        self.configuration.write_text(text)

    def start(self) -> None:
        """Returns when it is ready for jobs."""
        folder = self._folder
        files = [f"--{name}={folder}/{name}" for name in ("pid-file", "log-file", "seed-file")]
        self._start("munged", "--foreground", f"--key-file={folder}/key", f"--socket={folder}/socket", *files)
        _until(lambda: (folder / "socket").exists(), "munged")
        self._start("slurmctld", "-D")
        self._start("slurmd", "-D")
        _until(lambda: self.say("sinfo", "-h", "-o", "%t") == "idle", "Slurm")

    def say(self, *command: str) -> str:
        """What one of Slurm's commands prints."""
        environment = {**os.environ, "SLURM_CONF": str(self.configuration)}
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
        return done.stdout.strip()

    def jobs(self, *states: str) -> list[str]:
        """Ids of the jobs that are in one of these states; of all that are left, if none is given."""
        return self.say("squeue", "-h", "-o", "%i", *(["-t", ",".join(states)] if states else [])).split()

    def close(self) -> None:
        """End all jobs, and the daemons."""
        self.say("scancel", *self.jobs())
        until = time.monotonic() + 20
        while self.jobs() and time.monotonic() < until:
            time.sleep(0.2)
        for process in reversed(self._all):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start(self, *command: str) -> None:
        environment = {**os.environ, "PATH": _PATH, "SLURM_CONF": str(self.configuration)}
        with (self._folder / f"{command[0]}.log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
        self._all.append(process)


@contextmanager
def slurm() -> Iterator[Slurm]:
    """One that is ready for jobs."""
    # Not below pytest's own folder: munged wants a socket that everybody may reach, by a short path.
    with tempfile.TemporaryDirectory(prefix="slurm-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        made = Slurm(folder)
        try:
            made.start()
            yield made
        finally:
            made.close()


def _ports(number: int) -> list[int]:
    found = [socket.socket() for _ in range(number)]
    try:
        for one in found:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in found]
    finally:
        for one in found:
            one.close()


def _until(ready: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + _START
    while not ready():
        assert time.monotonic() < until, f"{what} doesn't start"
        time.sleep(0.1)
