"""The store makes each key once, whoever asks, and never shows a half-made entry."""

import os
import threading
from pathlib import Path

import pytest

from ringhil.emulator.build.cache import BuildStore, cache_dir


def make(store: BuildStore, key: str, text: str = "made") -> Path:
    with store.claim(key) as claim:
        if claim.existing is not None:
            return claim.existing
        (claim.work / "file").write_text(text)
        return claim.commit([claim.work / "file"])


def test_an_entry_is_found_once_it_is_made(tmp_path: Path) -> None:
    store = BuildStore(tmp_path)
    assert store.find("k") is None
    entry = make(store, "k")
    assert store.find("k") == entry
    assert (entry / "file").read_text() == "made"


def test_threads_that_want_one_key_make_it_once(tmp_path: Path) -> None:
    store = BuildStore(tmp_path)
    begun, waited, go_on = threading.Event(), threading.Event(), threading.Event()
    makers: list[str] = []

    def slow() -> None:
        with store.claim("k") as claim:
            begun.set()
            assert go_on.wait(10)
            makers.append("slow")
            (claim.work / "file").write_text("slow")
            claim.commit([claim.work / "file"])

    def second() -> None:
        with store.claim("k", waiting=waited.set) as claim:
            if claim.existing is None:
                makers.append("second")

    threads = [threading.Thread(target=slow), threading.Thread(target=second)]
    threads[0].start()
    assert begun.wait(10)
    threads[1].start()
    assert waited.wait(10)
    assert store.find("k") is None
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert makers == ["slow"]


def test_makers_of_different_keys_do_not_wait_nor_sweep_each_other(tmp_path: Path) -> None:
    store = BuildStore(tmp_path)
    with store.claim("a") as claim:
        make(store, "b")
        assert claim.work.is_dir()


def test_a_failing_maker_leaves_nothing(tmp_path: Path) -> None:
    store = BuildStore(tmp_path)

    def fail() -> None:
        with store.claim("k") as claim:
            (claim.work / "file").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert store.find("k") is None
    assert list((tmp_path / "work").iterdir()) == []


def test_what_a_killed_maker_left_goes_with_the_next_claim_of_any_key(tmp_path: Path) -> None:
    store = BuildStore(tmp_path)
    make(store, "a")
    (tmp_path / "work" / "k.123.0").mkdir()
    (tmp_path / "work" / "k.123.0" / "file").write_text("half")
    make(store, "b")
    assert list((tmp_path / "work").iterdir()) == []


def test_size_is_always_checked_and_contents_when_asked(tmp_path: Path) -> None:
    store = BuildStore(tmp_path)
    file = make(store, "k") / "file"
    file.write_text("evil")
    assert store.find("k") is not None
    assert store.find("k", thorough=True) is None
    os.truncate(file, 1)
    assert store.find("k") is None
    assert (make(store, "k", "anew") / "file").read_text() == "anew"


def test_the_directory_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGHIL_CACHE", str(tmp_path / "mine"))
    assert cache_dir() == tmp_path / "mine"
    monkeypatch.delenv("RINGHIL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert tmp_path in cache_dir().parents
