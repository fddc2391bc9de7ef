"""The tables and schemas of docs/ that follow from definitions stand there as `make generate` writes them."""

from pathlib import Path

import pytest

from ringhil.emulator.front.printed import FORMS, published

from .kit import modules, public
from .tables import DOCS, SCHEMAS, TABLES, Table


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.page)
def test_the_page_shows_what_is_defined(table: Table) -> None:
    text = (DOCS / table.page).read_text()
    assert table.put(text) == text, "run `make generate`"


def test_a_schema_for_each_document_is_published() -> None:
    assert {path.name for path in SCHEMAS.iterdir()} == {f"{name}.json" for name in FORMS}


@pytest.mark.rest(but_one_in=8)
@pytest.mark.parametrize("name", FORMS)
def test_the_schema_is_that_of_the_document(name: str) -> None:
    assert (SCHEMAS / f"{name}.json").read_text() == published(name), "run `make generate`"


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match=r"scenarios\.md: no lines"):
        TABLES[-1].put("no marks")


def test_every_attribute_of_the_kit_is_explained() -> None:
    """Its classes' docstrings, which the API reference shows, name each public attribute; those of the reference model,
    which benches only read, needn't."""
    unsaid = {
        f"{module}.{name.name.partition('(')[0]}.{attribute}"
        for module, path in modules()
        if not module.startswith("reference")
        for name in public(path)
        for attribute in name.attributes
        if f"`{attribute}`" not in name.text and attribute != "at"
    }
    assert sorted(unsaid) == []


def test_a_public_name_without_a_docstring_is_refused(tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text('"""A module."""\n\nclass Thing:\n    """One."""\n\n    def go(self): ...\n')
    with pytest.raises(ValueError, match=r"new\.py: Thing\.go has no docstring"):
        list(public(tmp_path / "new.py"))
