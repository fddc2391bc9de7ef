"""Schedulers at tls://: certificates come from Dask's configuration, and wrong ones are told in one line."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.command import refusal
from tests.emulator.campaign.dask.commands import SMALL, explored, rows, verified
from tests.emulator.campaign.dask.dask_processes import Machines, machines
from tests.emulator.campaign.explore.servers import RING

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc, which only Linux has"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates"),
]
NOBODY = "tls://127.0.0.1:1"
ROLES = ("SCHEDULER", "WORKER", "CLIENT")


def certificate(folder: Path, name: str) -> Path:
    """One that has signed itself, with its key beside it."""
    file = folder / f"{name}.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", f"/CN={name}", "-keyout", str(key(file)), "-out", str(file)]
    subprocess.run(command, check=True, capture_output=True)
    return file


def key(file: Path) -> Path:
    return file.with_suffix(".key")


def configured(cert: Path, ca: Path, its_key: Path | None = None) -> Mapping[str, str]:
    """Dask's configuration, as variables of the environment."""
    parts = {"CERT": str(cert), "KEY": str(its_key or key(cert))}
    of_roles = {f"{role}__{part}": value for role in ROLES for part, value in parts.items()}
    return {f"DASK_DISTRIBUTED__COMM__TLS__{name}": value for name, value in {"CA_FILE": str(ca), **of_roles}.items()}


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificate(tmp_path_factory.mktemp("ours"), "ours")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificate(tmp_path_factory.mktemp("other"), "other")


@pytest.fixture(scope="module")
def one(ours: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """A scheduler and a worker that take who shows our certificate."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        set_(monkeypatch, configured(ours, ours))
        with machines(tmp_path_factory.mktemp("machines"), "tls") as started:
            started.worker("one")
            yield started


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    file = tmp_path / "ring.yaml"
    file.write_text(RING)
    return file


def set_(monkeypatch: pytest.MonkeyPatch, variables: Mapping[str, str]) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


@pytest.mark.rest
def test_files_that_cannot_be_used_are_named_at_once(
    ring: Path, ours: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begins = f"ringhil: --cluster {NOBODY}: distributed.comm.tls of Dask's configuration: found ca-file: "
    for name in configured(ours, ours):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DASK_CONFIG", str(ring.parent / "no configuration"))
    line = refusal("verify", ring, "--cluster", NOBODY)
    assert line == f"{begins}None, client.cert: None, client.key: None; needed are ca-file and client.cert"
    nowhere = ours.with_name("nowhere.pem")
    for variables, words in {
        (nowhere, ours, None): f"client.cert: {nowhere}, client.key: {key(nowhere)}: [Errno 2] No such file",
        (ours, ours, key(other)): f"client.key: {key(other)}: [X509: KEY_VALUES_MISMATCH]",
        (ours, ring, None): f"{ring}, client.cert: {ours}, ",
    }.items():
        set_(monkeypatch, configured(*variables))
        line = refusal("verify", ring, "--cluster", NOBODY)
        assert line.startswith(begins)
        assert words in line


@pytest.mark.slow(part="benches")
def test_campaigns_over_tls_find_the_same(
    one: Machines, ours: Path, ring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    explored(here, ring, *SMALL)
    plain = verified(ring)
    set_(monkeypatch, configured(ours, ours))
    explored(there, ring, *SMALL, "--cluster", one.address)
    assert rows(there) == rows(here)
    assert verified(ring, "--cluster", one.address) == plain


@pytest.mark.slow(part="benches")
@pytest.mark.parametrize(
    ("trusted", "words"),
    # In TLS 1.3 a client is through with its handshake before it is refused: the reason may get lost behind the end.
    [("ours", ("unknown ca", "EOF occurred")), ("other", ("TLS certificate does not match",))],
    ids=["client", "scheduler"],
)
def test_a_wrong_certificate_is_one_line(
    trusted: str,
    words: tuple[str, ...],
    one: Machines,
    ours: Path,
    other: Path,
    ring: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The scheduler doesn't take the client's, or the client the scheduler's."""
    set_(monkeypatch, configured(other, ours if trusted == "ours" else other))
    line = refusal("verify", ring, "--cluster", one.address)
    assert line.startswith(f"ringhil: --cluster {one.address}: no Dask scheduler can be reached there: ")
    assert any(each in line for each in words)
