"""Pages that are one file: scripts and styles stand in it, allowed by their hashes, and data in it are never markup."""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from markupsafe import Markup

from ringhil.emulator.errors import RinghilError
from ringhil.emulator.pages import render
from ringhil.emulator.pages.charts import Chart, json_of

BUILT = Path(__file__).parents[1] / "view" / "built"  # by `make page`


class PageError(RinghilError):
    """The page isn't there, or isn't one."""


def as_script(text: str) -> str:
    """A script as the content of its element."""
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def as_style(text: str) -> str:
    """A style sheet as the content of its element."""
    return text.replace("</style", "<\\/style")


def as_data(json: str) -> str:
    """JSON as the content of an element: no markup can begin in it."""
    return json.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """The Content-Security-Policy of a page with these, as they stand in their elements, and nothing else."""
    return (
        f"default-src 'none'; script-src {_hashes(scripts)}; style-src {_hashes(styles)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hashes(texts: Sequence[str]) -> str:
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"


@cache
def report_parts() -> tuple[str, str]:
    """Script and style of all reports. Raises PageError: call it before the work whose report it is."""
    texts = []
    for name in ("report.js", "report.css"):
        try:
            texts.append((BUILT / name).read_text(encoding="utf-8"))
        except OSError:
            raise PageError(
                f"the page was not built: found no emulator/view/built/{name}; `make page` builds it"
            ) from None
    return as_script(texts[0]), as_style(texts[1])


def report(template: str, charts: Sequence[Chart] = (), **values: object) -> str:
    """A report as one file, from a template that extends report.html.j2. Raises PageError."""
    script, style = report_parts()
    return render(
        template,
        policy=policy([script], [style]),
        script=Markup(script),
        style=Markup(style),
        data=Markup(as_data(json_of(charts))),
        charts=charts,
        **values,
    )
