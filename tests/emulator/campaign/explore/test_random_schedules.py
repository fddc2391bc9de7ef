"""Two or three faults of any kinds, anywhere, at any times: not one schedule may fail. What failed here once is a
scenario file in tests/scenarios/two_at_once, or a test of its own in tests/emulator/server/test_catalogue.py."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SETTINGS = """
  settings: {census_period: 600, firmware_latency: 8, host_latency: 8, keepalive_interval: 400, wait_to_restore: 900,
             watchdog: 32, allowance_period: 512, link_restore: 72, gpu_restore: 32}
"""
RING = f"server:\n  cards: {{a: {{gpus: 4, host_links: [0, 1]}}}}{SETTINGS}"
TWO_CARDS = f"""server:
  cards: {{a: {{gpus: 4, host_links: [0, 1]}}, b: {{gpus: 3, host_links: [0, 1]}}}}
  boundary_links: [{{from: [a.2, a.3], to: [b.1, b.2]}}]{SETTINGS}"""


def nothing_fails(folder: Path, server: str, *arguments: str) -> int:
    """Explore; the number of schedules played."""
    file = folder / "server.yaml"
    file.write_text(server)
    command = [sys.executable, "-m", "ringhil.emulator", "explore", str(file), "--store", str(folder / "s.sqlite")]
    command += ["--depth", "3", "--parts", "random", "--rounds", "0", "--json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    found = json.loads(done.stdout)
    assert found["verdict"] == "pass"
    assert found["done"] == found["cases"]
    played: int = found["run"]["played"]
    return played


@pytest.mark.slow(part="explore")
@pytest.mark.parametrize("server", [RING, TWO_CARDS], ids=["one card", "two cards"])
def test_a_few(tmp_path: Path, server: str) -> None:
    assert nothing_fails(tmp_path, server, "--random", "100", "--seed", "7") == 101


SHARDS = 40


@pytest.mark.slow(part="explore")
@pytest.mark.parametrize("shard", range(1, SHARDS + 1))
@pytest.mark.parametrize(("server", "number"), [(RING, 100_000), (TWO_CARDS, 30_000)], ids=["one card", "two cards"])
def test_very_many(tmp_path: Path, server: str, number: int, shard: int) -> None:
    """These are the same in every run; 100,000 bound the rate of failures below 3 in 100,000, at 95 %."""
    arguments = ("--random", str(number), "--seed", "1", "--shard", f"{shard}/{SHARDS}", "--jobs", "1")
    assert nothing_fails(tmp_path, server, *arguments) >= number // SHARDS
