"""Which files are scenarios: neither too many nor too few."""

import json
from pathlib import Path

import pytest

from ringhil.emulator.campaign.verify.discover import VerifyError, discover, looks_like_scenario

from .files import FILES, GOOD, write_all


def test_scenarios_below_a_folder_sorted_and_nothing_else(tmp_path: Path) -> None:
    write_all(tmp_path)
    found = discover([tmp_path])
    assert [p.relative_to(tmp_path).as_posix() for p in found] == sorted(FILES)
    assert discover([tmp_path / "good.yaml", tmp_path, tmp_path / "deep" / ".."]) == found, "each once"


YES = {
    "block": "# a comment\n---\nname: x\nserver:\n  cards: {}\n",
    "quoted": '"server": {}\n',
    "windows": "name: x\r\nserver:\r\n  cards: {}\r\n",
    "bom": "\ufeffserver: {}\n",
    "json": json.dumps({"name": "x", "server": {}}),
    "flow": "# flow\n{server: {cards: {}}}\n",
    "broken json": '{"server": {"cards": ',
    "broken yaml": "server: [\n",
}
NO = {
    "deeper": "jobs:\n  server: {}\n",
    "another word": "servers: {}\nserver_name: x\n",
    "text": "a line about a server: none\n",
    "json deeper": json.dumps({"a": {"server": {}}}),
    "json list": "[server]",
    "empty": "",
}


@pytest.mark.parametrize("text", YES.values(), ids=YES)
def test_what_looks_like_one(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.yaml").write_bytes(text.encode())
    assert looks_like_scenario(tmp_path / "x.yaml")


@pytest.mark.parametrize("text", NO.values(), ids=NO)
def test_what_does_not(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    assert not looks_like_scenario(tmp_path / "x.yaml")
    assert discover([tmp_path / "x.yaml"]) == [tmp_path / "x.yaml"], "named, it is taken, so that its mistake is shown"


def test_what_a_failure_left_is_not_found_again(tmp_path: Path) -> None:
    (tmp_path / "left").mkdir()
    (tmp_path / "left" / "scenario.yaml").write_text(GOOD)
    assert len(discover([tmp_path])) == 1
    (tmp_path / "left" / "replay.json").write_text("{}")
    with pytest.raises(VerifyError, match="no scenario found"):
        discover([tmp_path])


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VerifyError, match="no such file"):
        discover([tmp_path, tmp_path / "none"])
