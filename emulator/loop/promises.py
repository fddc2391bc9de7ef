"""What is promised of a GPU's firmware: each promise a server in which it is put to work and judged, or a case that is
played against it alone (`alone/`).

The pages that promise it are docs/howto/firmware.md and docs/explanation/elections.md. In each scenario the firmware
that is checked runs on one GPU, or, where it may, on all that have any; all else is ours. The judge of runs says what
came of it.
"""

from dataclasses import dataclass

from ringhil.emulator.loop.alone.cases import LONE_PROMISES, LonePromise
from ringhil.emulator.loop.alone.servers import FirmwareRole
from ringhil.emulator.server.firmware_choice import ALL

_RING = "server: {cards: {a: {gpus: 8, host_links: [0, 1, 2]}}}\n"
_PAIR = """\
server:
  cards: {a: {gpus: 6, host_links: [0, 1]}, b: {gpus: 6}}
  boundary_links: [{from: [a.3, a.4], to: [b.2, b.1]}]
"""
_WORK = "workload: {units: 120, size: 256}\n"

_MEMBER, _BOUNDARY, _WARDEN = (
    frozenset({role}) for role in (FirmwareRole.MEMBER, FirmwareRole.BOUNDARY, FirmwareRole.WARDEN)
)
_ENTRY = frozenset({FirmwareRole.MEMBER, FirmwareRole.ENTRY})


@dataclass(frozen=True)
class FirmwarePromise:
    """`says`: what is promised; `where`: the GPU that runs it, or ALL that have any; `scenario`: a file's text;
    `roles`: those that this GPU plays in it."""

    says: str
    where: str
    scenario: str
    roles: frozenset[FirmwareRole]


PROMISES: dict[str, FirmwarePromise | LonePromise] = {
    "election.first": FirmwarePromise(
        "Whoever is first of its group is elected at power-up, and keeps the role.",
        "a.0",
        _RING + "expect: [{by: 6000, entry: {a: a.0}}, {at: 60000, entry: {a: a.0}, epoch: {a: 1}}]\nuntil: 60001\n",
        _ENTRY,
    ),
    "election.waits": FirmwarePromise(
        "Who is not first asks for nothing while another holds the role.",
        "a.1",
        _RING + "expect: [{by: 6000, entry: {a: a.0}}, {at: 60000, entry: {a: a.0}, epoch: {a: 1}}]\nuntil: 60001\n",
        _MEMBER,
    ),
    "election.takes_over": FirmwarePromise(
        "The next one takes the role over when its holder dies.",
        "a.1",
        _RING
        + "timeline: [{at: 20000, fault: dead, gpu: a.0}]\n"
        + "expect: [{by: 40000, entry: {a: a.1}, count: {a: 7}}]\nuntil: 60000\n",
        _ENTRY,
    ),
    "election.gives_up": FirmwarePromise(
        "A holder that is cut off from the CPU stops before another one is elected.",
        "a.0",
        _RING
        + "timeline: [{at: 20000, fault: host_link_cut, gpu: a.0}]\n"
        + "expect: [{by: 40000, entry: {a: a.1}, count: {a: 8}}]\nuntil: 60000\n",
        _ENTRY,
    ),
    "election.comes_back": FirmwarePromise(
        "Who comes back lets the holder be, and the role moves no more.",
        "a.0",
        _RING
        + "timeline: [{at: 20000, fault: dead, gpu: a.0}, {at: 50000, clear: dead, gpu: a.0}]\n"
        + "expect: [{by: 40000, entry: {a: a.1}}, {at: 120000, entry: {a: a.1}, count: {a: 8}}]\nuntil: 120001\n",
        _ENTRY,
    ),
    "election.alone": FirmwarePromise(
        "The last one of its group takes the role when all before it are gone.",
        "a.2",
        _RING
        + "timeline: [{at: 20000, fault: dead, gpu: a.0}, {at: 40000, fault: dead, gpu: a.1}]\n"
        + "expect: [{by: 70000, entry: {a: a.2}, count: {a: 6}}]\nuntil: 90000\n",
        _ENTRY,
    ),
    "election.cut": FirmwarePromise(
        "A cut of the ring moves no role.",
        "a.1",
        _RING
        + "timeline: [{at: 20000, fault: link_cut, link: a.0-a.1}]\n"
        + "expect: [{at: 60000, entry: {a: a.0}, epoch: {a: 1}, count: {a: 8}}]\nuntil: 60001\n",
        _MEMBER,
    ),
    "census.counts": FirmwarePromise(
        "A census counts the GPUs that work, and a dead one no more.",
        "a.0",
        _RING
        + "timeline: [{at: 20000, fault: dead, gpu: a.5}, {at: 50000, clear: dead, gpu: a.5}]\n"
        + "expect: [{by: 10000, count: {a: 8}}, {by: 30000, count: {a: 7}, members: {a: [0, 1, 2, 3, 4, 6, 7]}}, "
        + "{by: 70000, count: {a: 8}}]\nuntil: 80000\n",
        _ENTRY,
    ),
    "census.cut": FirmwarePromise(
        "A ring that is cut is counted by its two arms, and the cut is located.",
        "a.0",
        _RING
        + "timeline: [{at: 20000, fault: link_cut, link: a.4-a.5}]\n"
        + "expect: [{by: 40000, count: {a: 8}, break: {a: a.4-a.5}}]\nuntil: 60000\n",
        _ENTRY,
    ),
    "census.liar": FirmwarePromise(
        "Who miscounts is not believed, and named.",
        "a.0",
        _RING + "timeline: [{at: 20000, fault: double_count, gpu: a.5}]\nuntil: 60000\n",
        _ENTRY,
    ),
    "census.thief": FirmwarePromise(
        "Who counts itself under another's number is not believed, and named.",
        "a.0",
        _RING + "timeline: [{at: 20000, fault: duplicate_id, gpu: a.5}]\nuntil: 60000\n",
        _ENTRY,
    ),
    "census.damage": FirmwarePromise(
        "Who damages messages is named.",
        "a.0",
        _RING + "timeline: [{at: 20000, fault: corrupt, gpu: a.5}]\nuntil: 60000\n",
        _ENTRY,
    ),
    "census.slow_link": FirmwarePromise(
        "A link that delays is reported slow.",
        "a.0",
        _RING + "timeline: [{at: 20000, fault: link_delay, link: a.4-a.5, delay: 20}]\nuntil: 80000\n",
        _ENTRY,
    ),
    "census.degraded": FirmwarePromise(
        "A GPU that computes slowly gets less work.",
        "a.0",
        _RING + _WORK + "timeline: [{at: 2000, fault: slow, gpu: a.5}]\n",
        _ENTRY,
    ),
    "boundary.asks": FirmwarePromise(
        "The first of the group asks for the lease of a link between cards, and the next one when it dies.",
        "a.3",
        _PAIR
        + "timeline: [{at: 40000, fault: dead, gpu: a.4}, {at: 90000, clear: dead, gpu: a.4}]\n"
        + "expect: [{by: 20000, boundary: {a: a.3}, reachable: {b: true}}, {at: 120000, boundary: {a: a.3}}]\n"
        + "until: 120001\n",
        _BOUNDARY,
    ),
    "boundary.takes_over": FirmwarePromise(
        "The next one takes a link between cards over when its holder dies.",
        "a.4",
        _PAIR
        + "timeline: [{at: 40000, fault: dead, gpu: a.3}]\n"
        + "expect: [{by: 80000, boundary: {a: a.4}, reachable: {b: true}}]\nuntil: 100000\n",
        _BOUNDARY,
    ),
    "boundary.grants": FirmwarePromise(
        "A warden grants one lease at a time, each epoch once.",
        "b.2",
        _PAIR
        + "timeline: [{at: 40000, fault: dead, gpu: a.3}, {at: 80000, clear: dead, gpu: a.3}]\n"
        + "expect: [{by: 20000, boundary: {a: a.3}}, {by: 70000, boundary: {a: a.4}}]\nuntil: 140000\n",
        _WARDEN,
    ),
    "boundary.remembers": FirmwarePromise(
        "A warden that has crashed grants no epoch again.",
        "b.2",
        _PAIR.replace("[a.3, a.4], to: [b.2, b.1]", "[a.3], to: [b.2]")
        + "timeline: [{at: 40000, fault: dead, gpu: b.2}, {at: 40000, fault: dead, gpu: a.3}, "
        + "{at: 60000, clear: dead, gpu: b.2}, {at: 60000, clear: dead, gpu: a.3}]\n"
        + "expect: [{by: 120000, reachable: {b: true}}]\nuntil: 140000\n",
        _WARDEN,
    ),
    "boundary.refuses": FirmwarePromise(
        "A warden grants nothing while another's lease runs, even to who doesn't hear its holder.",
        "b.1",
        _PAIR
        + "timeline: [{at: 40000, fault: link_cut, link: a.3-a.4}, {at: 40000, fault: link_cut, link: a.4-a.5}]\n"
        + "expect: [{at: 80000, boundary: {a: a.3}}]\nuntil: 100000\n",
        _WARDEN,
    ),
    "together.ring": FirmwarePromise(
        "A ring of nothing but such firmware counts, elects and works.",
        ALL,
        _RING + _WORK + "timeline: [{at: 3000, fault: dead, gpu: a.0}, {at: 9000, fault: link_cut, link: a.4-a.5}]\n",
        _ENTRY,
    ),
    "together.cards": FirmwarePromise(
        "Cards of nothing but such firmware do, too.",
        ALL,
        _PAIR + _WORK + "timeline: [{at: 6000, fault: dead, gpu: a.3}, {at: 9000, fault: dead, gpu: b.1}]\n",
        frozenset(FirmwareRole),
    ),
    **LONE_PROMISES,
}
