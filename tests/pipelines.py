"""The pipelines of examples/ci as their services run them: the jobs, each with its steps, in a copy of its own.

Of GitHub Actions and GitLab CI it knows what these two files use; anything else raises KeyError.
"""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "ci"
GITHUB, GITLAB = EXAMPLE / ".github" / "workflows" / "rings.yml", EXAMPLE / ".gitlab-ci.yml"
_ALWAYS = ("always()", "${{ !cancelled() }}")


@dataclass(frozen=True)
class Step:
    """Commands of a shell. `always`: also after a step that has failed."""

    script: str
    always: bool = False


@dataclass(frozen=True)
class PipelineJob:
    """`folder`: where it is run; `kept`: what is there afterwards, whatever came of it; `cached`: what jobs share."""

    name: str
    steps: tuple[Step, ...]
    variables: Mapping[str, str]
    kept: tuple[str, ...]
    cached: str

    def run(self, folder: Path, programs: Path) -> Iterator[tuple[Step, subprocess.CompletedProcess[str]]]:
        """Each step that is run, with what came of it. `programs`: the folder of programs of an environment."""
        clean = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "GITHUB_"))
        }
        environment = {**clean, "PATH": f"{programs}:{clean['PATH']}", **self.variables}
        failed = False
        for step in self.steps:
            if not failed or step.always:
                done = subprocess.run(
                    ["bash", "-eo", "pipefail", "-c", step.script],
                    cwd=folder,
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                failed |= done.returncode != 0
                yield step, done


def github(folder: Path) -> list[PipelineJob]:
    """Those of the workflow, one for each value of a matrix."""
    pipeline = _loaded(GITHUB)
    return [
        _on_github(f"{name} {shard}", job, pipeline["env"], {"matrix.shard": str(shard)}, len(shards), folder)
        for name, job in pipeline["jobs"].items()
        for shards in [job.get("strategy", {"matrix": {"shard": [1]}})["matrix"]["shard"]]
        for shard in shards
    ]


def _on_github(name: str, job: Any, variables: Any, known: Mapping[str, str], number: int, folder: Path) -> PipelineJob:
    values = {**known, "github.workspace": str(folder), "strategy.job-total": str(number)}

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda found: values[found[1]], text)

    steps, kept, cached = list[Step](), list[str](), ""
    for step in job["steps"]:
        action, _, _ = step.get("uses", "").partition("@")
        if "run" in step:
            steps.append(Step(filled(step["run"]), step.get("if") in _ALWAYS))
        elif action == "actions/upload-artifact":
            assert step["if"] in _ALWAYS
            kept += filled(step["with"]["path"]).split()
        elif action == "actions/cache":
            cached = step["with"]["path"]
    ours = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_WORKSPACE": str(folder),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
    }
    theirs = {key: filled(value) for key, value in variables.items()}
    return PipelineJob(name, tuple(steps), ours | theirs, tuple(kept), cached)


def gitlab(folder: Path) -> list[PipelineJob]:
    """Those of the pipeline, as many of each as it has in parallel."""
    pipeline = _loaded(GITLAB)
    default, variables = pipeline.pop("default"), pipeline.pop("variables")
    jobs = []
    for name, job in pipeline.items():
        number = job.get("parallel", 1)
        artifacts = job.get("artifacts", {"when": "always", "paths": []})
        assert artifacts["when"] == "always"
        for index in range(1, number + 1):
            ours = {"CI_PROJECT_DIR": str(folder), "CI_NODE_INDEX": str(index), "CI_NODE_TOTAL": str(number)}
            theirs = {key: value.replace("$CI_PROJECT_DIR", str(folder)) for key, value in variables.items()}
            script = "\n".join((*default["before_script"], *job["script"]))
            kept = (*artifacts["paths"], *artifacts.get("reports", {}).values())
            (cached,) = default["cache"]["paths"]
            jobs.append(PipelineJob(f"{name} {index}", (Step(script),), ours | theirs, kept, cached))
    return jobs


def commands() -> list[list[str]]:
    """Each command of both pipelines that is one of ringhil's, as words."""
    jobs = (*github(Path("/")), *gitlab(Path("/")))
    lines = [line for job in jobs for step in job.steps for line in step.script.splitlines()]
    return [shlex.split(line) for line in lines if line.startswith("ringhil ")]


def _loaded(file: Path) -> Any:
    return YAML(typ="safe").load(file.read_text())
