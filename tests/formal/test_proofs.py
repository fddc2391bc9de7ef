"""Every proof goes through, and finds the mistake in its broken twin."""

from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from ringhil.emulator.proofs import tools

from . import prove
from .proofs import PROOFS
from .prove import Proof, Twin

pytestmark = pytest.mark.skipif(
    bool(tools.missing()), reason=f"not installed: {', '.join(tools.missing())}; {tools.INSTALL}"
)


def _cases(one_in: int = 1) -> list[ParameterSet]:
    slow = pytest.mark.slow(part="proofs")
    return [
        pytest.param(proof, id=proof.name, marks=[slow] if proof.slow or number % one_in else [])
        for number, proof in enumerate(PROOFS)
    ]


@pytest.mark.rest(but_one_in=8)
@pytest.mark.parametrize("proof", _cases(2))
def test_the_proof_goes_through(proof: Proof, tmp_path: Path) -> None:
    result = prove.prove(proof, tmp_path)
    assert result.outcome == prove.PROVED, result.log


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("proof", _cases(3))
def test_its_broken_twin_fails(proof: Proof, tmp_path: Path) -> None:
    result = prove.refute(proof, tmp_path)
    assert result.outcome == prove.REFUTED, result.log
    assert "Assert failed" in result.log
    assert result.trace is not None


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.name)
def test_its_broken_twin_has_its_place(proof: Proof) -> None:
    assert proof.twin.apply((prove.RTL / proof.twin.file).read_text())


@pytest.mark.parametrize("found", ["nothing of the kind", "twice twice"])
def test_a_twin_that_does_not_apply_exactly_once_is_refused(found: str) -> None:
    with pytest.raises(ValueError, match=r"rx\.sv: 'twice' occurs [02] times, must be once"):
        Twin("rx.sv", "twice", "thrice").apply(found)
