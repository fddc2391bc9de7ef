"""Units of work: generated ones, and files of any size, read piece by piece."""

import errno
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.host.work.workload import DataError, Files, Generated, WorkUnits, digest


def contents(workload: WorkUnits) -> list[bytes]:
    return [workload.read(unit) for unit in range(workload.units)]


# ------------------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("length", "cut"),
    [(1, [1]), (99, [99]), (100, [100]), (101, [100, 1]), (200, [100, 100]), (250, [100, 100, 50])],
)
def test_a_file_is_cut_into_units(tmp_path: Path, length: int, cut: list[int]) -> None:
    data = os.urandom(length)
    (tmp_path / "data").write_bytes(data)
    units = contents(Files(tmp_path / "data", 100))
    assert [len(unit) for unit in units] == cut
    assert b"".join(units) == data


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    """Not when it is read: from a pipe nothing might ever come."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError):
        Files(tmp_path / "pipe", 100)


def test_an_empty_file_has_no_units(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    assert Files(tmp_path / "data", 100).units == 0


def test_an_empty_directory_has_no_units(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    assert Files(tmp_path, 100).units == 0


def test_a_directory_is_all_its_files_by_name_each_from_a_new_unit(tmp_path: Path) -> None:
    for name, data in {"b/c/deep": b"3" * 150, "a": b"1" * 120, "b/a": b"2" * 100, "b/empty": b"", "z": b"4"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    found = [(unit[:1], len(unit)) for unit in contents(Files(tmp_path, 100))]
    assert found == [(b"1", 100), (b"1", 20), (b"2", 100), (b"3", 100), (b"3", 50), (b"4", 1)]


def test_units_are_read_in_any_order_and_again(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_bytes(name.encode() * 250)
    files = Files(tmp_path, 100)
    forwards = contents(files)
    assert [files.read(unit) for unit in reversed(range(files.units))] == forwards[::-1]
    files.close()
    assert files.read(4) == forwards[4]


def test_one_file_is_open_at_a_time(tmp_path: Path) -> None:
    """Of a directory of a million files too."""
    for name in "abc":
        (tmp_path / name).write_bytes(b"x")
    files = Files(tmp_path, 100)
    contents(files)
    names = [os.path.realpath(file) for file in Path("/proc/self/fd").iterdir()]
    assert [name for name in names if name.startswith(f"{tmp_path}/")] == [str(tmp_path / "c")]
    files.close()


def test_a_file_that_shrinks_is_an_error_and_no_short_unit(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(250))
    files = Files(path, 100)
    os.truncate(path, 249)
    assert len(files.read(1)) == 100
    with pytest.raises(DataError, match="data: has become shorter"):
        files.read(2)


def test_a_file_that_grows_is_read_as_long_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"a" * 150)
    files = Files(path, 100)
    path.write_bytes(b"a" * 500)
    assert [len(unit) for unit in contents(files)] == [100, 50]


def test_a_file_that_goes_away_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"x")
    files = Files(tmp_path, 100)
    (tmp_path / "data").unlink()
    with pytest.raises(DataError, match="cannot be read: No such file"):
        files.read(0)


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere: cannot be read: No such file"):
        Files(tmp_path / "nowhere", 100)


def test_a_path_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(DataError, match="loop: cannot be read: Too many levels of symbolic links"):
        Files(tmp_path / "loop", 100)


def test_a_directory_that_cannot_be_listed_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files must not be left out in silence."""
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "data").write_bytes(b"x")
    listing = os.scandir

    def scandir(path: Any) -> Any:
        if str(path).endswith("closed"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return listing(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(DataError, match="closed: cannot be read: Permission denied"):
        Files(tmp_path, 100)


def test_a_huge_file_is_opened_without_being_read(tmp_path: Path) -> None:
    """Eight gigabytes, of which only the end is more than a hole."""
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.truncate(8 << 30)
        file.seek((8 << 30) - 4)
        file.write(b"last")
    tracemalloc.start()
    try:
        files = Files(path, 65536)
        last = files.read(files.units - 1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert files.units == (8 << 30) // 65536
    assert last.endswith(b"last")
    assert peak < 1 << 20


# --------------------------------------------------------------------------------------------------- generated


def test_generated_units_differ_and_depend_on_seed_and_number_alone() -> None:
    one, same, other = Generated(200, 300, 5), Generated(200, 300, 5), Generated(200, 300, 6)
    units = contents(one)
    assert {len(unit) for unit in units} == {300}
    assert len(set(units)) == 200
    assert [same.read(unit) for unit in reversed(range(200))] == units[::-1]
    assert not set(units) & set(contents(other))


@given(st.integers(1, 65536), st.integers(0, 2**32 - 2))
def test_a_generated_unit_has_its_size(size: int, unit: int) -> None:
    assert len(Generated(2**32 - 1, size, 1).read(unit)) == size


# ------------------------------------------------------------------------------------------------------ digest


@given(st.binary(min_size=1, max_size=600))
def test_the_digest_is_that_of_the_padded_bytes(data: bytes) -> None:
    padded = data + bytes(-len(data) % 8)
    assert digest(data) == digest(padded)
    words = (int.from_bytes(padded[i : i + 4], "big") for i in range(0, len(padded), 4))
    assert digest(data) & 0xFFFFFFFF == sum(words) % 2**32


@given(st.binary(min_size=1, max_size=600), st.integers(0), st.integers(0, 7))
def test_any_flipped_bit_is_seen(data: bytes, place: int, bit: int) -> None:
    damaged = bytearray(data)
    damaged[place % len(data)] ^= 1 << bit
    assert digest(bytes(damaged)) != digest(data)


def test_one_file_is_open_at_a_time_and_none_after_close(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).write_bytes(bytes(50))

    def opened() -> set[str]:
        links = list(Path("/proc/self/fd").iterdir())
        return {link.readlink().name for link in links if link.is_symlink() and link.readlink().parent == tmp_path}

    files = Files(tmp_path, 100)
    files.read(0)
    assert opened() == {"first"}
    files.read(1)
    assert opened() == {"second"}
    files.close()
    assert opened() == set()


def test_generated_units_are_the_same_in_every_version() -> None:
    """Recordings are replayed by versions to come; the number of unit 1 times the factor has its top bit set."""
    units = Generated(3, 20, 5)
    assert [units.read(unit).hex() for unit in range(3)] == [
        "a8e5b8abeeab14cef599cc052535d5cec0ad0678",
        "bd61032ba8254c6c0a161785deae0c6dd52951f7",
        "d2dd4daa619f830a1f9261049828440beaa59b76",
    ]
