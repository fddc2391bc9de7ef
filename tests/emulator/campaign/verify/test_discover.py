"""Which files are scenarios: neither too many nor too few."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from ringhil.emulator.campaign.verify.discover import VerifyError, discover, looks_like_scenario, passed_over
from ringhil.emulator.scenario import ScenarioError, load_variants

from .files import FILES, GOOD, SWEEP, write_all


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
    "cluster": "name: x\ncluster:\n  servers: []\nexpect:\n  - {policy: fgd}\n",
    "quoted cluster": "\"cluster\": {}\r\n'expect': []\r\n",
    "json cluster": json.dumps({"cluster": {}, "expect": []}),
    "broken cluster": "cluster: [\nexpect: []\n",
}
NO = {
    "deeper": "jobs:\n  server: {}\n",
    "another word": "servers: {}\nserver_name: x\n",
    "text": "a line about a server: none\n",
    "json deeper": json.dumps({"a": {"server": {}}}),
    "json list": "[server]",
    "empty": "",
    "cluster of which nothing is expected": "cluster: {}\ntasks: []\n",
    "json cluster of which nothing is expected": json.dumps({"cluster": {"expect": []}}),
    "another cluster": "clusters: {}\nexpected: 1\n",
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


KEYS = ["server", "Server", "SERVER", "sever", "servr", "serverr", "severe", "serber", " server", '"Server"']


@given(st.sampled_from(KEYS), st.sampled_from(["block", "flow", "wrong"]), st.booleans())
def test_a_near_miss_of_the_key_is_no_way_to_be_passed_over(key: str, form: str, swept: bool) -> None:
    text = (SWEEP if swept else GOOD).replace("server: {", f"{key}: {{")
    if form == "flow":
        text = "{" + ", ".join(line for line in GOOD.replace("server: {", f"{key.strip()}: {{").splitlines()[:3]) + "}"
    if form == "wrong":
        text += "expect: [\n"
    if key.startswith(" "):
        text = "\n".join(f" {line}" for line in text.replace(" server", "server").splitlines())
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "x.YAML").write_text(text)
        (found,) = discover([Path(folder)])
        if form == "wrong" or "server" not in key or '"' in key:
            with pytest.raises(ScenarioError, match=r"server|x\.YAML:"):
                load_variants(found)


def test_a_file_without_the_key_that_is_ours_by_all_else_is_found(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("cards: {a: {gpus: 4}}\ntimeline: []\nexpect: []\n")
    with pytest.raises(ScenarioError, match=r"key 'server' is missing|unknown key 'cards'"):
        load_variants(*discover([tmp_path]))


def test_what_is_passed_over_is_told(tmp_path: Path) -> None:
    write_all(tmp_path)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "compose.yaml").write_text("services: {server: {image: x}}\n")
    (tmp_path / "link").symlink_to(tmp_path / "more")
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")
    found = discover([tmp_path])
    told = passed_over([tmp_path], found)
    assert [path.relative_to(tmp_path).as_posix() for path in told] == ["link", "ci.yml", "more/compose.yaml"]
    assert tmp_path / "gone.yaml" in found, "it can't be read, and that is its error"


@given(st.sampled_from([f"name: x\n{GOOD}", SWEEP, f"{{{GOOD}"]), st.data())
def test_a_scenario_that_was_cut_off_is_found_unless_what_is_left_is_whole_yaml(text: str, data: st.DataObject) -> None:
    left = text[: data.draw(st.integers(0, len(text)))]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "good.yaml").write_text(GOOD)
        (cut := Path(folder) / "cut.yml").write_text(left)
        found = discover([Path(folder)])
        if cut not in found:
            assert YAML(typ="safe", pure=True).load(left) is not None
            assert passed_over([Path(folder)], found) == [cut]
        elif "server:" not in left:
            with pytest.raises(ScenarioError):
                load_variants(cut)


NO_YAML = {"empty": "", "blank": "\n \n", "a template": "{{- if .Values.on }}\na: 1\n{{- end }}\n", "tab": "\ta: 1\n"}
OTHERS = {
    "documents with tags and aliases": "---\na: &x 1\n---\n- !Ref x\n- *x\n",
    "comments": "# nothing yet\n",
    "yaml 1.1": "%YAML 1.1\n---\non: yes\n",
}


@pytest.mark.parametrize("text", [*NO_YAML.values(), *OTHERS.values()], ids=[*NO_YAML, *OTHERS])
def test_what_may_be_a_broken_scenario_is_found_and_yaml_of_another_kind_is_not(tmp_path: Path, text: str) -> None:
    (tmp_path / "good.yaml").write_text(GOOD)
    for name in ("x.yaml", "x.json"):
        (tmp_path / name).write_text(text)
    names = [path.name for path in discover([tmp_path])]
    assert names == ["good.yaml", *["x.yaml"] * (text in NO_YAML.values())], "a shell makes an empty x.json to write to"


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
