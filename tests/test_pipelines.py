"""examples/ci, copied whole, is a repository with pipelines that work: the steps of both services are run as they
stand, in copies of their own and in one fresh environment, with the wheel of this checkout in the place of the release.
"""

import json
import shutil
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .pipelines import EXAMPLE, GITHUB, GITLAB, PipelineJob, github, gitlab
from .test_packaging import OLDEST, ROOT, called, environment

SERVICES = [github, gitlab]
# What is wrong in a copy: an expectation, the firmware, and what a test asks for.
SEEDED = {
    "scenarios/a-gpu-dies.yaml": ("count: {a: 5}", "count: {a: 6}"),
    "program.py": ("class Program(GpuProgram):", "class Program(GpuProgram):\n    on_timer = lambda *_: []\n"),
    "tests/test_links.py": ("== (6, link)", "== (5, link)"),
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As a team has it: the example, and the wheel."""
    folder = tmp_path_factory.mktemp("repository")
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(*ignored()), dirs_exist_ok=True)
    called(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder / "wheels", ROOT)
    return folder


def ignored() -> list[str]:
    return [line.rstrip("/") for line in (EXAMPLE / ".gitignore").read_text().split()]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Those of an environment in which nothing is installed."""
    return environment(tmp_path_factory.mktemp("environment") / "venv", OLDEST, "pip")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the services keep between jobs."""
    return tmp_path_factory.mktemp("cache")


def copies(service: Callable[[Path], list[PipelineJob]], repository: Path, cache: Path, to: Path) -> Iterator[Path]:
    """One for each job, with the cache in it."""
    for number, job in enumerate(service(to)):
        folder = to / str(number)
        shutil.copytree(repository, folder)
        shared = cache / service.__name__
        shared.mkdir(exist_ok=True)
        (folder / job.cached).parent.mkdir(parents=True, exist_ok=True)
        (folder / job.cached).symlink_to(shared)
        yield folder


@pytest.mark.slow(part="packages")
@pytest.mark.parametrize("service", SERVICES)
def test_a_green_repository_passes_and_keeps_what_it_says(
    service: Callable[[Path], list[PipelineJob]], repository: Path, programs: Path, cache: Path, tmp_path: Path
) -> None:
    for number, folder in enumerate(copies(service, repository, cache, tmp_path)):
        job = service(folder)[number]
        for step, done in job.run(folder, programs):
            assert done.returncode == 0, f"{job.name}: {step.script}\n{done.stdout}{done.stderr}"
        assert [name for name in job.kept if not (folder / name).exists()] == []
        for report in folder.glob("results/*.xml"):
            assert ElementTree.parse(report).getroot().tag == "testsuites"
        assert list((folder / job.cached).rglob("*.so")) or "pytest" in job.name, "the engine isn't cached"


@pytest.mark.slow(part="packages")
@pytest.mark.parametrize("service", SERVICES)
def test_each_job_of_a_red_repository_fails_and_keeps_what_it_says(
    service: Callable[[Path], list[PipelineJob]], repository: Path, programs: Path, cache: Path, tmp_path: Path
) -> None:
    for number, folder in enumerate(copies(service, repository, cache, tmp_path)):
        for name, (right, wrong) in SEEDED.items():
            text = (folder / name).read_text()
            assert right in text
            (folder / name).write_text(text.replace(right, wrong))
        job = service(folder)[number]
        done = list(job.run(folder, programs))
        said = [f"{step.script}: {each.returncode}" for step, each in done]
        failed = [(step, each) for step, each in done if each.returncode]
        assert {each.returncode for _, each in failed} == {1}, said
        assert [name for name in job.kept if not (folder / name).exists()] == [], said
        if service is github:
            assert [step.script for step, each in failed if "::error " not in each.stderr] == []
            assert len(failed) == len(job.steps) - 1, said  # all but the installation
        pages = list(folder.glob("results/**/*.html"))
        assert [page for page in pages if page.with_suffix(".rec").exists()] or "firmware" in job.name, said
        if "results/codequality.json" in job.kept:
            issues = json.loads((folder / "results" / "codequality.json").read_text())
            assert "scenarios/a-gpu-dies.yaml" in {issue["location"]["path"] for issue in issues}


@pytest.mark.slow(part="packages")
def test_the_files_are_what_the_services_read(tmp_path: Path) -> None:
    programs = environment(tmp_path / "environment", OLDEST, "check-jsonschema")
    for file, schema in ((GITHUB, "vendor.github-workflows"), (GITLAB, "vendor.gitlab-ci")):
        called(programs / "check-jsonschema", "--builtin-schema", schema, file)
