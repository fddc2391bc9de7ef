"""Pages of the API reference, one for each package: made while `make docs` builds the site, none is in the project."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

SOURCES = Path(__file__).resolve().parents[1] / "src"


def packages() -> dict[str, list[str]]:
    """Each package, with the modules in it that have a public name."""
    found = {}
    for init in sorted(SOURCES.glob("ringhil/*/**/__init__.py")):
        files = [file for file in sorted(init.parent.glob("*.py")) if not file.stem.startswith("_")]
        found[_name(init.parent)] = [_name(file.with_suffix("")) for file in files]
    return found


def _name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCES).parts)


def on_config(config: MkDocsConfig) -> None:
    """They stand at the end of the navigation."""
    assert config.nav is not None
    config.nav.append({"API": [f"api/{package}.md" for package in packages()]})


def on_files(files: Files, config: MkDocsConfig) -> None:
    """The text of each page: what mkdocstrings puts the docstrings in place of."""
    for package, modules in packages().items():
        text = "\n\n".join([f"# {package}", *(f"::: {name}" for name in (package, *modules))])
        files.append(File.generated(config, f"api/{package}.md", content=text))
