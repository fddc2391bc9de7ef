"""The tables of docs/ that follow from definitions stand there as `make generate` writes them."""

import pytest

from .tables import DOCS, TABLES, Table


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.page)
def test_the_page_shows_what_is_defined(table: Table) -> None:
    text = (DOCS / table.page).read_text()
    assert table.put(text) == text, "run `make generate`"


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match=r"scenarios\.md: no lines"):
        TABLES[-1].put("no marks")
