"""What 0.4.0 has written is read, or refused in one line that says what to do. tests/data/0.4.0 has one of each kind,
as it wrote them; of the recording the first lines."""

import json
import shutil
from pathlib import Path

import pytest

from .command import refusal, ringhil

WRITTEN = Path(__file__).parent / "data" / "0.4.0"


@pytest.mark.rest
def test_scenarios_and_verdicts_of_0_4_are_read(tmp_path: Path) -> None:
    """`bad.yaml` is what a failing variant left."""
    for name in ("card.yaml", "bad.yaml"):
        shutil.copy(WRITTEN / name, tmp_path)
    (tmp_path / "now.json").write_text(ringhil("verify", ".", "--json", cwd=tmp_path).stdout)
    compared = ringhil("verify", "compare", WRITTEN / "verdicts.json", "now.json", "--json", cwd=tmp_path)
    found = json.loads(compared.stdout)
    assert (compared.returncode, found["both"]) == (0, 2)
    assert [found[name] for name in ("worse", "better", "other", "only_old", "only_new")] == [[], [], [], [], []]


@pytest.mark.rest
def test_a_store_of_0_4_is_read_and_gets_a_campaign_beside_its_own(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    shutil.copy(WRITTEN / store.name, store)
    store.chmod(0o644)
    query = ("explore", "query", store, "--campaign", 1, "--json")
    before = json.loads(ringhil(*query).stdout)
    assert before["found"] == 9
    done = ringhil("explore", WRITTEN / "card.yaml", "--faults", "dead", "--store", store, "--number", 1, "--json")
    assert json.loads(done.stdout)["campaign"] == 2
    assert json.loads(ringhil(*query).stdout) == before


@pytest.mark.parametrize("command", ["replay", "step", "view"])
def test_a_recording_of_0_4_is_refused_with_how_to_get_another(command: str) -> None:
    file = WRITTEN / "run.jsonl"
    line = refusal(command, file)
    assert line.startswith(f"ringhil: {file}: is a recording as JSON lines")
    assert line.endswith("record the run anew: `ringhil run SERVER.yaml --record FILE.rec`")
