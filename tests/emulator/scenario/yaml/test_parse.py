"""Files are plain YAML 1.2: what can be read in two ways, or stall the reader, is refused."""

import os
import time
from pathlib import Path

import pytest
from tests.emulator.scenario.samples import SERVER, refused

from ringhil.emulator.scenario import ScenarioError, load, loads
from ringhil.emulator.scenario.yaml.events import MAX_BYTES
from ringhil.emulator.scenario.yaml.parse import resolve

WRONG = [
    ("a: b§: c", "invalid YAML: mapping values are not allowed here"),
    ("a: [1, 2§", "invalid YAML"),
    ("a: 1\n§\tb: 2", "invalid YAML: found character '\\t'"),
    ("a: 'b§\u2028c'", "character #x2028 ends a line in some tools only; in quotes it can be escaped"),
    ("a: §\x00", "invalid YAML: character #x0000"),
    ("a: §\ud800", "invalid YAML: character #xd800"),
    (r'a: §"\ud800"', r"a: '\ud800' holds half a character"),
    (r'a: "\U99999999"', "invalid YAML after this place"),
    ("%YAML 1.1\n§--- {}", "another version of YAML; allowed is 1.2"),
    ("--- {}\n§--- {}", "a second document begins here"),
    ("seed: 1\nserver: {}\n§seed: 2", "top level: duplicate key 'seed'; line 1 has it already"),
    ("server: {cards: {a: {gpus: 2}, §\"a\": {gpus: 3}}}", "server.cards: duplicate key 'a'"),
    ("? §{a: 1}\n: 1", "a mapping or list as a key; keys are names"),
    ("a: [&x 1, §*x]", "a[1]: alias *x; aliases are not used here"),
    ("a: §!!python/object/apply:os.system [exit]", "a: a tag; tags are not used here"),
    ("a: §!!str 1", "a: a tag"),
    ("a: §!x {}", "a: a tag"),
    ("§!!str a: 1", "a tag"),
    ("a:\n  - §!" + "x" * 2000, "more than 1000 characters without a space after '!'"),
    ("[" * 20 + "§" + "[" * 100_000, "nested too deep; at most 20 levels are read"),
    ("".join(" " * n + "a:\n" for n in range(30)), "nested too deep"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), WRONG, ids=lambda w: w[:40])
def test_yaml_that_says_more_than_plain_values_is_refused(text: str, words: str) -> None:
    assert words in str(refused(text))


def test_aliases_can_not_multiply() -> None:
    bomb = "a: &a [x, x]\n" + "".join(f"{c}: &{c} [*{p}, *{p}]\n" for p, c in zip("abcdef", "bcdefg", strict=True))
    assert "alias *a" in str(refused(bomb))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("FALSE", False),
        ("yes", "yes"),
        ("off", "off"),
        ("0", 0),
        ("-12", -12),
        ("+3", 3),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("2024-01-01", "2024-01-01"),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("-.inf", float("-inf")),
        ("a.3", "a.3"),
        ("1.2.3", "1.2.3"),
        ("٣", "٣"),
        (str(2**64 - 1), 2**64 - 1),
    ],
)
def test_plain_scalars_mean_what_the_core_schema_says(text: str, value: object) -> None:
    found = resolve(text)
    assert found == value
    assert type(found) is type(value)


def test_quotes_make_text() -> None:
    assert loads(f"name: '17'\n{SERVER}").name == "17"


def test_a_character_that_json_writes_as_two_escapes_is_one() -> None:
    assert loads(r'name: "\ud83d\ude00"' + f"\n{SERVER}").name == "\U0001f600"


def test_a_name_in_any_language_is_kept() -> None:
    assert loads(f"name: zwölf, 十二\n{SERVER}").name == "zwölf, 十二"


def test_text_that_is_too_large_is_refused_at_once(tmp_path: Path) -> None:
    file = tmp_path / "large.yaml"
    file.write_bytes(b"# " + b"x" * MAX_BYTES)
    message = r"large\.yaml:1:1: the file is too large; at most 4194304 bytes"
    with pytest.raises(ScenarioError, match=message):
        load(file)
    with pytest.raises(ScenarioError, match=message):
        loads("é" * (MAX_BYTES // 2 + 1), str(file))


@pytest.mark.rest
def test_the_largest_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "full.yaml"
    file.write_text(SERVER + "#" * (MAX_BYTES - len(SERVER)))
    assert load(file).name == "full"


def test_an_endless_file_is_refused() -> None:
    with pytest.raises(ScenarioError, match="it is no file"):
        load("/dev/zero")


def test_a_long_tag_does_not_stall_the_reader() -> None:
    began = time.monotonic()
    refused("!" + "a" * (MAX_BYTES - 1))
    assert time.monotonic() - began < 2


def test_bytes_that_are_not_utf8_are_told_with_their_place(tmp_path: Path) -> None:
    file = tmp_path / "latin.yaml"
    file.write_bytes("seed: 1\nname: zw\u00f6lf ".encode() + b"\xfc\n")
    with pytest.raises(ScenarioError, match=r"latin\.yaml:2:13: byte 0xfc is not UTF-8"):
        load(file)
    file.write_bytes(SERVER.encode("utf-16"))
    with pytest.raises(ScenarioError, match=r"latin\.yaml:1:1: byte 0xff is not UTF-8"):
        load(file)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("missing.yaml", "No such file or directory"),
        (".", "it is a folder; name a file"),
        ("a\0b", "null byte"),
        ("a\nb", r"a\\nb"),
    ],
)
def test_a_file_that_can_not_be_read_is_told_without_a_position(path: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=reason) as caught:
        load(tmp_path / path)
    assert (caught.value.line, caught.value.column) == (None, None)
    assert str(caught.value).isprintable()


def test_a_file_name_that_is_not_utf8_is_escaped(tmp_path: Path) -> None:
    file = tmp_path / os.fsdecode(b"\xff.yaml")
    try:
        file.write_text(SERVER)
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    assert load(file).name == r"\udcff"
