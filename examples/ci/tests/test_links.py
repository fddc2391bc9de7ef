"""A ring with a cut link counts all its GPUs, and says which link it is."""

import pytest

LINKS = [f"a.{gpu}-a.{(gpu + 1) % 6}" for gpu in range(6)]


@pytest.mark.parametrize("link", LINKS)
def test_a_cut_link_loses_nobody(ringhil, link):
    server = ringhil("../server.yaml")
    server.run_to(8000)
    server.strike("link_cut", link)
    server.run(8000)
    assert (server.count("a"), server.broken("a")) == (6, link)
    server.clear("link_cut", link)
    server.finish()
    assert server.broken("a") is None
