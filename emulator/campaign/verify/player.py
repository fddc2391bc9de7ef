"""Plays single variants of files: what each process of `ringhil verify` does; and their names, for `--list`."""

import logging
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ringhil.emulator.campaign.verify.clusters import ClusterVariant, ClusterVariants, failed
from ringhil.emulator.campaign.verify.discover import is_cluster
from ringhil.emulator.campaign.verify.evidence import Evidence, Replay
from ringhil.emulator.campaign.verify.judge import failures
from ringhil.emulator.campaign.verify.selection import Selection
from ringhil.emulator.campaign.verify.verdict import Failure, Verdict, identity
from ringhil.emulator.engine.library import Library
from ringhil.emulator.host.work.workload import DataError
from ringhil.emulator.judge.outcome import VerdictWord
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import ScenarioError, Variant, Variants, dumps, load_variants
from ringhil.emulator.server import LiveServer
from ringhil.emulator.server.foreign import FirmwareError
from ringhil.emulator.server.hashes import scenario_hash
from ringhil.emulator.server.node_choice import NodeError, did_otherwise

AnyVariants = Variants | ClusterVariants


def variants_of(file: Path) -> AnyVariants:
    """Those of a scenario, or of a cluster. Raises ScenarioError."""
    return ClusterVariants(file) if is_cluster(file) else load_variants(file)


_FILES_KEPT = 8  # a file with many variants comes in turn with others


@dataclass
class Player:
    """`evidence`: where failing variants are left; None: nowhere. `seed`: instead of the files' own."""

    files: Sequence[Path]
    library: Library
    selection: Selection
    seed: int | None
    replay: Replay
    evidence: Evidence | None
    _loaded: "OrderedDict[int, tuple[AnyVariants, Sequence[int]]]" = field(default_factory=OrderedDict)

    def load(self, file: int) -> tuple[AnyVariants | tuple[()], Sequence[int]]:
        """A file's variants and the numbers of those that are to be played. Raises ScenarioError, but for a file of
        which nothing is to be played."""
        if file not in self._loaded:
            try:
                variants = self.read(file)
            except ScenarioError:
                if self.selection.leaves_out((self.files[file].as_posix(), "")):
                    return (), ()
                raise
            self._loaded[file] = (variants, chosen(self.files[file], file, variants, self.selection))
            if len(self._loaded) > _FILES_KEPT:
                self._loaded.popitem(last=False)
        self._loaded.move_to_end(file)
        return self._loaded[file]

    def read(self, file: int) -> AnyVariants:
        """All variants of a file. Raises ScenarioError."""
        return variants_of(self.files[file])

    def play(self, file: int, place: int) -> Verdict:
        """The verdict on the variant that stands at `place` among those chosen of the file."""
        variants, chosen = self.load(file)
        began = time.perf_counter()
        try:
            variant = variants[chosen[place]]
            if isinstance(variant, ClusterVariant):
                return self._placed(file, variant, began)
            return self.played(file, len(variants), variant, began)
        except ScenarioError as error:
            return self.refused(file, error, chosen[place] if len(variants) > 1 else None)
        except DataError as error:
            return self.broken(file, place, Failure("input", str(error)))
        except FirmwareError as error:
            return self.broken(file, place, Failure("firmware", str(error)))
        except NodeError as error:
            return self.broken(file, place, Failure("node", str(error)))

    def played(self, file: int, variants: int, variant: Variant, began: float) -> Verdict:
        """The verdict on one of so many variants. Raises ScenarioError, DataError, FirmwareError and
        NodeError."""
        scenario = variant.scenario if self.seed is None else replace(variant.scenario, seed=self.seed)
        server = Run(scenario, self.library, firmware=self.replay.firmware, nodes=self.replay.nodes)
        try:
            outcome = server.run()
            took_part(server.server, scenario.name)
        finally:
            server.engine.close()
        found = failures(scenario, outcome)
        name = variant.text
        verdict = Verdict(
            file=self.files[file],
            number=variant.number,
            variant=name,
            parameters=variant.parameters,
            name=scenario.name,
            state=VerdictWord.FAIL if found else VerdictWord.PASS,
            seed=scenario.seed,
            cycles=outcome.cycles,
            seconds=round(time.perf_counter() - began, 6),
            failures=found,
            replay=self.replay.command(self.files[file], name),
            unjudged=outcome.unjudged,
            scenario=scenario_hash(dumps(scenario.anywhere())),
            alone=scenario.workload is None or scenario.workload.data is None,
        )
        if found and self.evidence is not None:
            verdict = self.evidence.draft(verdict, scenario, self.library, swept=variants > 1)
        return verdict

    def _placed(self, file: int, variant: ClusterVariant, began: float) -> Verdict:
        seed = variant.scenario.own_seed if self.seed is None else self.seed
        found = failed(variant, seed)
        return Verdict(
            file=self.files[file],
            number=variant.number,
            variant=variant.text,
            parameters=variant.parameters,
            name=variant.scenario.name,
            state=VerdictWord.FAIL if found else VerdictWord.PASS,
            seed=seed,
            cycles=0,
            seconds=round(time.perf_counter() - began, 6),
            failures=found,
            replay=self.replay.command(self.files[file], variant.text),
        )

    def refused(self, file: int, error: ScenarioError, number: int | None = None) -> Verdict:
        """The verdict on a file, or on one of its variants, that can't be used."""
        failure = Failure("input", error.problem, error.line, error.column)
        return self._error(file, number or 0, "" if number is None else _unnamed(number), (), failure)

    def broken(self, file: int, place: int, failure: Failure) -> Verdict:
        """The verdict on a variant (`place` below 0: on a file) that could not be played to its end."""
        if failure.kind == "process" and (given := self.replay.firmware.given):
            failure = replace(failure, text=f"{failure.text}; its firmware may be why: {', '.join(given)}")
        if place < 0:
            return self._error(file, 0, "", (), failure)
        variants, chosen = self.load(file)
        variant = variants[chosen[place]]
        return self._error(file, variant.number, variant.text, variant.parameters, failure)

    def _error(
        self, file: int, number: int, variant: str, parameters: tuple[tuple[str, str], ...], failure: Failure
    ) -> Verdict:
        path = self.files[file]
        name = f"{path.stem} [{variant}]" if variant else path.stem
        command = self.replay.command(path, variant)
        return Verdict(path, number, variant, parameters, name, VerdictWord.ERROR, None, 0, 0.0, (failure,), command)


def chosen(file: Path, number: int, variants: AnyVariants, selection: Selection) -> Sequence[int]:
    """Numbers of the variants that are to be played of a file, which is the `number`-th."""
    numbers = range(len(variants))
    if selection.everything:
        return numbers
    mine = [n for n in numbers if selection.mine(number, n)]
    return [n for n in mine if selection.fits(file, *name_of(variants, n))] if selection.by_name else mine


def name_of(variants: AnyVariants, number: int) -> tuple[str, str]:
    """A variant's text and its scenario's name."""
    try:
        variant = variants[number]
    except ScenarioError:
        return _unnamed(number), ""
    return variant.text, variant.scenario.name


def _unnamed(number: int) -> str:
    """Stands for the parameters of a variant that can't be made."""
    return f"#{number + 1}"


def listed(files: Sequence[Path], selection: Selection) -> list[str]:
    """Ids, in the order in which verdicts come. Raises ScenarioError for a file that can't be used."""
    names = []
    for number, file in enumerate(files):
        try:
            variants = variants_of(file)
        except ScenarioError:
            if selection.leaves_out((file.as_posix(), "")):
                continue
            raise
        numbers = chosen(file, number, variants, selection)
        names += [identity(file, name_of(variants, n)[0]) for n in numbers]
    return names


def names(files: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Id and name of each variant of each file; of one that can't be used, the path alone."""
    for file in files:
        try:
            variants = variants_of(file)
        except ScenarioError:
            yield file.as_posix(), ""
            continue
        for number in range(len(variants)):
            text, name = name_of(variants, number)
            yield identity(file, text), name


_log = logging.getLogger(__name__)


def took_part(server: LiveServer, name: str) -> None:
    """Raises NodeError for a board that was lost: whatever came of the run, it is no verdict on that hardware. What
    one did otherwise is said, and left to the judge."""
    for node in server.engine.outside():
        gpu, otherwise = server.wiring.gpu_of(node.cell), did_otherwise(node)
        if otherwise is not None:
            _log.warning("%s: %s: %s", name, gpu, otherwise)
        if node.lost:
            raise NodeError(f"{gpu}: cycle {node.lost_at + 1}: the board {node.lost}")
