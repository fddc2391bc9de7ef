"""`python -m tests.fuzz NAME EXECUTIONS FOLDER`: libFuzzer looks for bytes that a decoder doesn't take.

Needs atheris (`pip install 'ringhil[fuzz]'`). Exit code 0: none found; else FOLDER has a file that fails: put into the
decoder's corpus, tests/fuzz/test_decoders.py plays it again.
"""

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["ringhil"]):
    from .decoders import CORPUS, DECODERS


def main() -> None:
    name, executions, folder = sys.argv[1:]
    decoder, found = DECODERS[name], Path(folder)
    (found / "corpus").mkdir(parents=True)
    options = (f"-runs={executions}", "-seed=1", "-max_len=4096", "-timeout=60", f"-artifact_prefix={found}/")
    atheris.Setup(
        [sys.argv[0], *options, str(found / "corpus"), str(CORPUS / name)],
        lambda data: decoder.fed(data, found / "read"),
    )
    atheris.Fuzz()


main()
