"""Programs of other users, with the library copied to where they can read it (docs/howto/monitoring.md)."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.protocol.c.library import compile_c

from ringhil.emulator.groups.mount import GroupMountError, check_mount

from .served import TEXT, Monitored

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may run something as somebody else")
NOBODY = 65534
LOOKS = r"""
#include <stdio.h>
struct memory { unsigned long long total, free, used; };
int nvmlInit_v2(void), nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **gpu);
int nvmlDeviceGetMemoryInfo(void *gpu, struct memory *memory);
int main(void)
{
    unsigned count = 99;
    int code = nvmlInit_v2();
    while (getchar() != EOF) {
        code |= nvmlDeviceGetCount_v2(&count);
        printf("%d %u:", code, count);
        for (unsigned n = 0; n < count && !code; n++) {
            struct memory memory;
            void *gpu;
            code |= nvmlDeviceGetHandleByIndex_v2(n, &gpu) | nvmlDeviceGetMemoryInfo(gpu, &memory);
            printf(" %llu", memory.total >> 20);
        }
        puts("");
        fflush(stdout);
    }
    return 0;
}
"""


class Looking:
    """Somebody else's program; it looks when it is told to."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def look(self) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


@contextmanager
def looking(served: Monitored) -> Iterator[Looking]:
    """With nothing but what is world-readable, and the two settings."""
    with tempfile.TemporaryDirectory(prefix="ringhil") as name:
        folder = Path(name)
        folder.chmod(0o755)
        where = served.run("sh", "-c", 'echo "${LD_LIBRARY_PATH%%:*}"').stdout.strip()
        shutil.copy(Path(where) / "libnvidia-ml.so.1", folder)
        (folder / "looks.c").write_text(LOOKS)
        done = compile_c("-std=gnu11", folder / "looks.c", folder / "libnvidia-ml.so.1", "-o", folder / "looks")
        assert done.returncode == 0, done.stderr
        settings = {"LD_LIBRARY_PATH": name, "RINGHIL_NVML": str(served.socket)}
        with subprocess.Popen(
            [folder / "looks"], user=NOBODY, env=settings, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            yield Looking(process)
            process.kill()


def test_in_no_group_they_see_no_gpu(monitored: Monitored) -> None:
    with looking(monitored) as it:
        assert it.look() == "0 0:"


def test_in_a_group_they_see_what_it_is_given(tmp_path: Path) -> None:
    folder = tmp_path / "groups"
    folder.mkdir()
    try:
        check_mount(folder)
    except GroupMountError as error:
        pytest.skip(str(error))
    with Monitored(tmp_path, TEXT, "--clock", "200000", "--groups", str(folder)) as served, looking(served) as it:
        assert it.look() == "0 0:"
        (folder / "mine").mkdir()
        (folder / "mine" / "gpu.memory.max").write_text("6G")
        (folder / "mine" / "cgroup.procs").write_text(str(it.process.pid))
        assert it.look() == "0 6:" + " 6144" * 6
        (folder / "mine" / "gpu.memory.max").write_text("max")
        assert it.look() == "0 6:" + " 22528" * 6
        (folder / "cgroup.procs").write_text(str(it.process.pid))
        assert it.look() == "0 0:"
