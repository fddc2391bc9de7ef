"""What holds whatever is played: the rules of the link, of a node that rests, of single frames and of results,
watched in every case."""

from collections.abc import Iterator

from ringhil.emulator.conformance import end_to_end, standing, whole_results
from ringhil.emulator.conformance.credit_check import overspent, uses
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.stimulus import Carrier, Fault, Mark, Stimulus
from ringhil.protocol import crc
from ringhil.protocol.wire import DATA_SLOTS

GENERAL = {
    "link.idle": "link outputs are zero but for carrier and remote fault while nothing is sent",
    "link.framing": "flits come in whole frames, one at a time on each channel, and no frame is too long",
    "link.carrier": "nothing is sent without carrier",
    "link.crc": "every frame leaves with a good link CRC, or marked and with an inverted one",
    **end_to_end.DEMANDS,
    "link.credit": "as many credits are given as data frames were taken, after power-up and after each restart",
    "link.spent": "no data frame begins without a credit, after power-up and after each restart",
    "quiescence.still": "when a node rests and nothing comes in, the next clock edge changes no output",
    **standing.DEMANDS,
    **whole_results.DEMANDS,
}


def general_breaches(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """Broken rules of the link."""
    faults = {a.name for a in stimulus.actions if isinstance(a, Fault)}
    breaches = list(observed.breaches)
    for link, frames in observed.left.items():
        for frame in frames:
            # A corrupt GPU damages control frames, and no others.
            if ("corrupt" in faults and frame.channel == "control") or not (frame.sof and frame.eof):
                continue
            found = int.from_bytes(frame.data[-4:], "big")
            wanted = crc.link_crc(frame.data) ^ (0xFFFFFFFF if frame.err else 0)
            if found != wanted:
                marked = "a marked" if frame.err else "an unmarked"
                text = f"{link}: {marked} {frame.kind} frame with link CRC 0x{found:08X}, must be 0x{wanted:08X}"
                breaches.append(Breach("link.crc", frame.ended, text))
    breaches += standing.lowered(stimulus, observed)
    breaches += standing.within(stimulus, observed)
    breaches += end_to_end.checked(stimulus, observed)
    breaches += whole_results.whole(stimulus, observed)
    for link in observed.left:
        breaches += overspent("link.spent", observed, link, {})
        breaches += _too_many(observed, link)
        breaches += _unheard(observed, link)
    if not any(isinstance(a, Carrier | Mark) for a in stimulus.actions):
        for link, given in observed.credits.items():
            # One that has not ended yet may have been cut short as too long, and its slot be free again.
            taken = sum(f.channel == "data" and f.sof for f in observed.arrived[link])
            taken += (link, "data") in observed.unfinished
            if len(given) > taken:
                text = f"{link}: {len(given)} credits given for {taken} data frames"
                breaches.append(Breach("link.credit", given[taken], text))
    return breaches


def _unheard(observed: Observed, link: str) -> Iterator[Breach]:
    """Credits in the cycle in which the mark goes off: the far end hears of that then, and begins afresh."""
    for use in uses(observed, link):
        if use.first and use.first in observed.credits[link]:
            text = f"{link}: a credit in the cycle in which the remote-fault mark went off, which the far end misses"
            yield Breach("link.credit", use.first, text)


def _too_many(observed: Observed, link: str) -> Iterator[Breach]:
    """Credits beyond one for each slot and one for each frame that has begun to come, since a link is used again."""
    for use in uses(observed, link):
        given = [c for c in observed.credits[link] if use.first <= c <= use.last]
        if not use.first or len(given) <= DATA_SLOTS:
            continue
        began = [f.began for f in observed.arrived[link] if f.channel == "data" and f.began >= use.first]
        more = (link, "data") in observed.unfinished
        for number, cycle in enumerate(given, start=1):
            if number > DATA_SLOTS + sum(b <= cycle for b in began) + more:
                text = f"{link}: {number} credits given since cycle {use.first}, when the link was used again"
                yield Breach(
                    "link.credit", cycle, f"{text}, for {DATA_SLOTS} slots and {number - DATA_SLOTS - 1} frames"
                )
                break
