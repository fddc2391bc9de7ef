"""What `ringhil view` shows of clusters and of loans."""

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import click

from ringhil.emulator.campaign.verify.discover import is_cluster
from ringhil.emulator.front.cli.terminal import print_json
from ringhil.emulator.front.cli.view_served import ViewOptions, answer
from ringhil.emulator.front.cli.written import check_apart, must_be_writable, write_page
from ringhil.emulator.view.files import built
from ringhil.emulator.view.fleet import CLUSTER, LOANS, ClusterAbout, LoansAbout

_DATABASE = re.compile(r"(?:sqlite|mariadb|mysql|postgresql)(?:\+[a-z0-9]+)?://", re.IGNORECASE)
Page = dict[str, tuple[bytes, str]]


def is_fleet(shown: str) -> bool:
    """A cluster's file, or a database of loans."""
    return _DATABASE.match(shown) is not None or is_cluster(Path(shown))


def show(shown: str, policies: Sequence[str], options: ViewOptions) -> None:
    """Until SIGINT or SIGTERM; as a file: until that is written. Raises RinghilError and UsageError."""
    page = built()
    must_be_writable(options.html)
    with ExitStack() as stack:
        if _DATABASE.match(shown):
            if policies:
                raise click.UsageError("--policy is for a cluster's file; found a database")
            read = _loans(shown, stack, followed=options.html is None)
            _shown(page, read(), LOANS, options, read)
        else:
            from ringhil.emulator.cluster.policies import DEFAULT
            from ringhil.emulator.front.cli.place_runs import about_file

            check_apart([Path(shown)], html=options.html)
            _shown(page, about_file(Path(shown), policies or (DEFAULT,)), CLUSTER, options)


def _loans(url: str, stack: ExitStack, *, followed: bool) -> Callable[[], LoansAbout]:
    from ringhil.emulator.front.cli.lend_usage_page import about
    from ringhil.emulator.lending.database import open_database

    database = stack.enter_context(open_database(url, make=False))
    return lambda: about(database, followed=followed)


def _shown(
    page: Page,
    about: ClusterAbout | LoansAbout,
    name: str,
    options: ViewOptions,
    loans: Callable[[], LoansAbout] | None = None,
) -> None:
    from ringhil.emulator.view.alone import in_one, with_answers

    if options.html is not None:
        write_page(options.html, in_one(page, about, name))
        if options.as_json:
            print_json("view", {"html": str(options.html)})
        return
    from ringhil.emulator.view.fleet_web import application
    from ringhil.emulator.web_server import WebServer

    web = WebServer(options.where)
    try:
        answer(web, application(with_answers(page, about, name), loans), options)
    finally:
        web.close()
