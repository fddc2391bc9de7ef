"""Every wrong file gets one line: where, what was found, what is allowed. § marks the place to blame."""

from pathlib import Path

import pytest

from ringhil.emulator.scenario import ScenarioError, load

from .samples import SERVER, refused

EVENTS = SERVER + "timeline:\n"
LINKS = SERVER + "  boundary_links:\n    - "
EXPECT = SERVER + "expect:\n  - "
ENDS, ENDS_AT = SERVER + "until: 6000\n", "the run ends at cycle 6000 ('until' in line 6)"
JOINED = LINKS + "{from: [a.4, a.5], to: [b.3, b.2]}\ntimeline:\n"
BOUNDARY = LINKS + "{from: [a.4, a.5], to: [b.3, b.2]}\nexpect: [{at: 1, boundary: {a: "


def test_the_line_reads_like_this(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text("server:\n  cards:\n    a: {gpus: 8}\ntimeline:\n  - at: 9\n    fault: dead\n    gpu: a.9\n")
    with pytest.raises(ScenarioError) as caught:
        load(file)
    assert str(caught.value) == f"{file}:7:10: timeline[0].gpu: unknown GPU 'a.9'; card a has a.0 .. a.7"


WRONG = [
    # The whole file.
    ("§", "top level: found nothing; allowed is a mapping with the keys name, seed, server"),
    ("§- 1", "top level: found a list of length 1; allowed is a mapping"),
    ("§name: x", "top level: key 'server' is missing; needed is a mapping with the keys cards"),
    ("§sever: {}", "unknown key 'sever'; did you mean 'server'? allowed: name, seed, server"),
    ("§<<: {}", "unknown key '<<'; allowed:"),
    ("name: §3\n" + SERVER, "name: found 3; allowed is one line of text"),
    ('name: §"a\\nb"\n' + SERVER, r"name: found 'a\nb'; allowed is one line of text"),
    ("name: §''\n" + SERVER, "name: found ''"),
    ("§name:\n" + SERVER, "name: found nothing"),
    ("seed: §-1\n" + SERVER, "seed: found -1; allowed is a whole number, 0 .. 4294967295"),
    ("seed: §4294967296\n" + SERVER, "seed: found 4294967296"),
    ("seed: §true\n" + SERVER, "seed: found true"),
    ("seed: §1.0\n" + SERVER, "seed: found 1.0"),
    ("seed: §.nan\n" + SERVER, "seed: found nan"),
    ("seed: §-.inf\n" + SERVER, "seed: found -inf"),
    ("seed: §1_000\n" + SERVER, "seed: found '1_000'"),
    ("seed: §18446744073709551616\n" + SERVER, "seed: a whole number beyond 64 bits"),
    ("seed: §" + "9" * 5000 + "\n" + SERVER, "seed: a whole number beyond 64 bits: '999"),
    (SERVER + "until: §0", "until: found 0; allowed is a whole number, 1 .."),
    (SERVER + "until: §null", "until: found nothing"),
    # Cards.
    ("server: §{}", "server: key 'cards' is missing; needed is a mapping of 1 .. 16: a card name"),
    ("server: {cards: §{}}", "server.cards: found an empty mapping"),
    ("server: {cards: §[a]}", "server.cards: found a list of length 1"),
    (
        "server: {cards: §{" + ", ".join(f"c{i}: {{gpus: 2}}" for i in range(17)) + "}}",
        "server.cards: found a mapping of size 17; allowed is a mapping of 1 .. 16",
    ),
    ("server: {cards: {§a.b: {gpus: 2}}}", "server.cards: key 'a.b'; allowed is a card name (a letter"),
    ("server: {cards: {§7: {gpus: 2}}}", "server.cards: key '7'"),
    (
        "server: {cards: {a: §{}}}",
        "server.cards.a: key 'gpus' is missing; needed is a whole number, 2 .. 1024",
    ),
    ("server: {cards: {a: §8}}", "server.cards.a: found 8; allowed is a mapping with the keys gpus"),
    ("server: {cards: {a: {§gpu: 8}}}", "unknown key 'gpu'; did you mean 'gpus'? allowed: gpus, host_links"),
    (
        "server: {cards: {a: {gpus: §1}}}",
        "server.cards.a.gpus: found 1; allowed is a whole number, 2 .. 1024",
    ),
    ("server: {cards: {a: {gpus: §1025}}}", "found 1025"),
    ("server: {cards: {a: {gpus: §'8'}}}", "found '8'"),
    ("server: {cards: {a: {gpus: 8, host_links: §[]}}}", "host_links: found an empty list"),
    ("server: {cards: {a: {gpus: 8, host_links: §0}}}", "host_links: found 0; allowed is a list"),
    ("server: {cards: {a: {gpus: 8, host_links: [§8]}}}", "unknown GPU 8; card a has 0 .. 7"),
    ("server: {cards: {a: {gpus: 8, host_links: [§-1]}}}", "host_links[0]: found -1"),
    ("server: {cards: {a: {gpus: 8, host_links: [0, §2]}}}", "GPU 2 is no neighbour of GPU 0 on card a"),
    ("server: {cards: {a: {gpus: 8, host_links: [0, 1, §0]}}}", "GPU 0 of card a stands here twice"),
    (
        "server: {cards: {a: {gpus: 8, types: {0: §H20}}}}",
        "GPU type 'H20'; did you mean 'H200'? allowed: gen",
    ),
    ("server: {cards: {a: {gpus: 8, types: {0: §4}}}}", "found 4; allowed is one of generic, T4"),
    (SERVER + "  power: {§H20: {}}", "server.power: unknown key 'H20'; did you mean 'H200'? allowed: "),
    (
        SERVER + "  power: {T4: {run_power: §65536}}",
        "server.power.T4.run_power: found 65536; allowed is a whole number",
    ),
    (
        SERVER + "  power: {T4: {low_wake: §-1}}",
        "server.power.T4.low_wake: found -1; allowed is a whole number, 0 .. 65535",
    ),
    (SERVER + "  power: {T4: {§running: 1}}", "server.power.T4: unknown key 'running'; "),
    (SERVER + "  power: §[]", "server.power: found an empty list"),
    ("server: {cards: {a: {gpus: 8, types: {§8: T4}}}}", "types: unknown GPU 8; card a has 0 .. 7"),
    (
        "server: {cards: {a: {gpus: 8, types: {§x: T4}}}}",
        "key 'x'; allowed is 'default' or the index of a GPU",
    ),
    ("server: {cards: {a: {gpus: 8, weights: {§01: 1}}}}", "key '01'"),
    (
        "server: {cards: {a: {gpus: 8, weights: {1: §0}}}}",
        "weights.1: found 0; allowed is a whole number, 1 ..",
    ),
    ("server: {cards: {a: {gpus: 8, weights: {default: §65536}}}}", "weights.default: found 65536"),
    # Boundary links.
    (LINKS + "{from: [§c.1], to: [b.1]}", "from[0]: unknown card 'c'; cards are a, b, pair"),
    (LINKS + "{from: a.4, to: §b.6}", "boundary_links[0].to: unknown GPU 'b.6'; card b has b.0 .. b.5"),
    (LINKS + "{from: a.4, to: [§b]}", "found 'b'; allowed is a GPU name, card and index, such as a.3"),
    (LINKS + "{from: §[], to: [b.1]}", "from: found an empty list"),
    (LINKS + "{from: §4, to: b.1}", "from: found 4; allowed is a GPU name"),
    (LINKS + "§{from: a.4}", "key 'to' is missing"),
    (LINKS + "{from: [a.4, a.5], to: §[b.1]}", "1 for 2 GPUs in 'from'; they are wired one to one"),
    (LINKS + "{from: [a.4, §b.5], to: [b.1, b.2]}", "b.5 is not on card a, which has a.0 .. a.7"),
    (LINKS + "{from: [a.4, §a.6], to: [b.1, b.2]}", "GPU 6 is no neighbour of GPU 4"),
    (LINKS + "{from: [a.4, §a.4], to: [b.1, b.2]}", "GPU 4 of card a stands here twice"),
    (LINKS + "{from: a.4, to: §a.5}", "both sides are on card a; allowed are two cards"),
    (LINKS + "{from: §a.0, to: b.1}", "a.0 is the entry GPU at power-up (first host link)"),
    (LINKS + "{from: a.4, to: b.1}\n    - {from: §a.4, to: pair.1}", "a.4 is in boundary_links[0] already"),
    (LINKS + "{from: a.4, to: b.1}\n    - §{from: b.2, to: a.5}", "cards a and b are joined already"),
    # Settings.
    (SERVER + "  settings: {§watchdogs: 1}", "unknown key 'watchdogs'; did you mean 'watchdog'?"),
    (SERVER + "  settings: {watchdog: §0}", "settings.watchdog: found 0; allowed is a whole number, 1 .."),
    (
        SERVER + "  settings: {heartbeat: §-1}",
        "settings.heartbeat: found -1; allowed is a whole number, 0 ..",
    ),
    (SERVER + "  settings: {window: §5}", "settings.window: found 5; allowed is a whole number, 1 .. 4"),
    (SERVER + "  settings: {records: §no}", "found 'no'; allowed is one of always, sometimes, never"),
    (SERVER + "  settings: {policy: §fair}", "found 'fair'; allowed is one of proportional, round_robin"),
    (
        SERVER + "  settings: {keepalive_multiplier: §1}",
        "settings.keepalive_multiplier: found 1; allowed is a whole number, 2 .. 10",
    ),
    (SERVER + "  settings: {keepalive_multiplier: §11}", "found 11"),
    (SERVER + "  settings: {keepalive_jitter: §26}", "keepalive_jitter: found 26; allowed is a whole number, 0 .. 25"),
    (
        SERVER + "  settings: {keepalive_jitter: §19}",
        "settings.keepalive_jitter: a keepalive_multiplier of 3 allows a keepalive_jitter of at most 18 percent; "
        "found 19",
    ),
    (SERVER + "  settings: {keepalive_jitter: §25, keepalive_multiplier: 2}", "of at most 24 percent; found 25"),
    (
        SERVER + "  settings: {keepalive_multiplier: §6}",
        "settings.keepalive_multiplier: a keepalive_multiplier of 6 allows a keepalive_jitter of at most 10 percent; "
        "found 12, the default",
    ),
    (SERVER + "  settings: {keepalive_interval: §0}", "keepalive_interval: found 0"),
    (SERVER + "  settings: {wait_to_restore: §0}", "wait_to_restore: found 0"),
    (SERVER + "  settings: {gpu_restore: §0}", "gpu_restore: found 0"),
    # Workload.
    (
        SERVER + "workload: §{size: 1}",
        "workload: none of the keys that say which; allowed is exactly one of units",
    ),
    (SERVER + "workload: {data: x, §units: 1}", "key 'units' beside 'data'; allowed is exactly one of"),
    (SERVER + "workload: {units: §-1}", "workload.units: found -1"),
    (
        SERVER + "workload: {units: 1, size: §0}",
        "workload.size: found 0; allowed is a whole number, 1 .. 65536",
    ),
    (
        SERVER + "workload: {units: 1, across: §1}",
        "workload.across: found 1; there are no boundary links to cross, so allowed is 0",
    ),
    (SERVER + "workload: {units: 1, across: §101}", "across: found 101; allowed is a whole number, 0 .. 100"),
    (SERVER + 'workload: {data: §"a\\0b"}', r"workload.data: found 'a\x00b'"),
    # Timeline.
    (
        EVENTS + "  §at: 1",
        "timeline: found a mapping of size 1; allowed is a list, each a mapping with the keys at",
    ),
    (EVENTS + "  - §{fault: dead, gpu: a.1}", "timeline[0]: key 'at' is missing"),
    (
        EVENTS + "  - {at: §-1, fault: dead, gpu: a.1}",
        "cycle -1 is in the past; allowed is 0 (power-up) or later",
    ),
    (
        EVENTS + "  - {at: §9223372036854775808, fault: dead, gpu: a.1}",
        "timeline[0].at: found 9223372036854775808",
    ),
    (
        EVENTS + "  - §{at: 1, gpu: a.1}",
        "none of the keys that say which; allowed is exactly one of fault, clear",
    ),
    (EVENTS + "  - {at: 1, fault: dead, §clear: dead, gpu: a.1}", "key 'clear' beside 'fault'"),
    (
        EVENTS + "  - {at: 1, fault: §deaf, gpu: a.1}",
        "unknown fault 'deaf'; did you mean 'dead'? allowed: dead",
    ),
    (EVENTS + "  - {at: 1, §fault: , gpu: a.1}", "timeline[0].fault: found nothing; allowed is one of dead"),
    (EVENTS + "  - {at: 1, fault: §dead}", "dead without a gpu; say where, e.g. gpu: a.3"),
    (EVENTS + "  - {at: 1, fault: §link_cut}", "link_cut without a link; say where, e.g. link: a.5-a.6"),
    (EVENTS + "  - {at: 1, fault: §link_delay}", "link_delay without a link; say where, e.g. link: a.5-a.6"),
    (
        EVENTS + "  - {at: 1, fault: §boundary_link_cut}",
        "boundary_link_cut without a link; say where, e.g. link: a.4-b.3",
    ),
    (EVENTS + "  - {at: 1, fault: §keepalive_loss}", "keepalive_loss without a gpu; say where, e.g. gpu: a.3"),
    (EVENTS + "  - {at: 1, fault: dead, §link: a.1-a.2}", "dead takes no link; it takes a gpu"),
    (
        EVENTS + "  - {at: 1, fault: link_cut, §gpu: a.1, link: a.1-a.2}",
        "link_cut takes no gpu; it takes a link",
    ),
    (EVENTS + "  - {at: 1, fault: dead, §card: a}", "dead takes no card; it takes a gpu"),
    (EVENTS + "  - {at: 1, fault: link_cut, §card: a}", "link_cut takes no card; it takes a link"),
    (EVENTS + "  - {at: 1, fault: §line_drop}", "line_drop without a card; say which, e.g. card: a"),
    (EVENTS + "  - {at: 1, fault: line_drop, §gpu: a.1}", "fault line_drop takes no gpu; it takes card, rate"),
    (EVENTS + "  - {at: 1, fault: line_drop, card: §paar}", "unknown card 'paar'; did you mean 'pair'? allowed: a, b"),
    (EVENTS + "  - {at: 1, fault: line_cut, card: a, §rate: 3}", "fault line_cut takes no rate; it takes card"),
    (
        EVENTS + "  - {at: 1, fault: line_drop, card: a, §count: 3}",
        "fault line_drop takes no count; it takes card, rate",
    ),
    (EVENTS + "  - {at: 1, clear: line_drop, card: a, §rate: 3}", "clear line_drop takes no rate; it takes card"),
    (EVENTS + "  - {at: 1, clear: §line_drop, card: a}", "line_drop is not active at card a at cycle 1"),
    (
        EVENTS + "  - {at: 1, fault: line_drop, card: a}\n  - {at: 2, fault: §line_drop, card: a}",
        "line_drop is active at card a at cycle 2",
    ),
    (EVENTS + "  - {at: 1, fault: line_drop, card: a, rate: §65536}", "allowed is a whole number, 1 .. 65535"),
    (EVENTS + "  - {at: 1, fault: §line_dorp, card: a}", "unknown fault 'line_dorp'; did you mean 'line_drop'?"),
    (EVENTS + "  - {at: 1, fault: dead, gpu: §A.1}", "unknown card 'A'; cards are a, b, pair"),
    (
        EVENTS + "  - {at: 1, fault: dead, gpu: §pear.1}",
        "unknown card 'pear'; did you mean 'pair'? cards are",
    ),
    (EVENTS + "  - {at: 1, fault: dead, gpu: §a.01}", "found 'a.01'; allowed is a GPU name"),
    (EVENTS + "  - {at: 1, fault: dead, gpu: §'a.1 '}", "found 'a.1 '"),
    (EVENTS + '  - {at: 1, fault: dead, gpu: §"a.1\\n"}', r"found 'a.1\n'"),
    (EVENTS + "  - {at: 1, fault: dead, gpu: §a.٣}", "found 'a.٣'"),
    (
        EVENTS + "  - {at: 1, fault: link_cut, link: §a.1-a.3}",
        "no ring link 'a.1-a.3'; a.1 is linked with a.0, a.2",
    ),
    (EVENTS + "  - {at: 1, fault: link_cut, link: §a.1-a.1}", "no ring link 'a.1-a.1'"),
    (EVENTS + "  - {at: 1, fault: link_cut, link: §a.1-b.2}", "no ring link 'a.1-b.2'"),
    (EVENTS + "  - {at: 1, fault: link_cut, link: §a.7-a.8}", "unknown GPU 'a.8'"),
    (EVENTS + "  - {at: 1, fault: link_cut, link: §a.7}", "found 'a.7'; allowed is a link, the two GPUs at"),
    (
        JOINED + "  - {at: 1, fault: link_cut, link: §a.4-b.3}",
        "timeline[0].link: link_cut takes a ring link, and a.4-b.3 is a boundary link; use boundary_link_cut there",
    ),
    (
        JOINED + "  - {at: 1, fault: boundary_link_cut, link: §a.4-a.5}",
        "boundary_link_cut takes a boundary link, and a.4-a.5 is a ring link; use link_cut there",
    ),
    (JOINED + "  - {at: 1, fault: link_cut, link: §a.4-b.2}", "no ring link 'a.4-b.2'; a.4 is linked with a.3, a.5"),
    (
        JOINED + "  - {at: 1, fault: boundary_link_cut, link: §a.4-b.2}",
        "no boundary link 'a.4-b.2'; a.4 is linked with b.3",
    ),
    (
        JOINED + "  - {at: 1, fault: boundary_link_cut, link: §a.3-b.2}",
        "no boundary link 'a.3-b.2'; boundary links are a.4-b.3, a.5-b.2",
    ),
    (
        EVENTS + "  - {at: 1, fault: boundary_link_cut, link: §a.3-b.2}",
        "no boundary link 'a.3-b.2'; there are none",
    ),
    (
        JOINED + "  - {at: 1, fault: link_one_way, link: §a.4-b.2}",
        "no link 'a.4-b.2'; a.4 is linked with a.3, a.5, b.3",
    ),
    (
        JOINED + "  - {at: 1, fault: link_delay, link: §b.3-b.5}",
        "no link 'b.3-b.5'; b.3 is linked with b.2, b.4, a.4",
    ),
    (
        EVENTS + "  - {at: 1, fault: host_link_cut, gpu: §a.2}",
        "timeline[0].gpu: a.2 has no link to the CPU; host links of card a: a.0, a.1",
    ),
    (EVENTS + "  - {at: 1, fault: host_link_cut, §link: a.1-a.2}", "host_link_cut takes no link; it takes a gpu"),
    (
        EVENTS + "  - {at: 1, fault: keepalive_loss, gpu: §a.4}",
        "a.4 sends no keepalives; host links and boundary members of card a do: a.0, a.1",
    ),
    (
        JOINED + "  - {at: 1, fault: keepalive_loss, gpu: §a.3}",
        "a.3 sends no keepalives; host links and boundary members of card a do: a.0, a.1, a.4, a.5",
    ),
    (
        EVENTS + "  - {at: 1, fault: corrupt, gpu: a.1, count: §0}",
        "timeline[0].count: found 0; allowed is a whole",
    ),
    (
        EVENTS + "  - {at: 1, fault: dead, gpu: a.1, §count: 1}",
        "dead takes no count; these faults do: keepalive_loss",
    ),
    (EVENTS + "  - {at: 1, clear: corrupt, gpu: a.1, §count: 1}", "'clear' takes no count"),
    (EVENTS + "  - {at: 1, fault: dead, gpu: a.1, §rate: 1}", "dead takes no rate; these faults do: link_bit_errors"),
    (EVENTS + "  - {at: 1, fault: hang, gpu: a.1, §period: 9}", "hang takes no period; these faults do: flap"),
    (
        EVENTS + "  - {at: 1, fault: link_cut, link: a.1-a.2, §delay: 9}",
        "link_cut takes no delay; these faults do: link_delay",
    ),
    (
        EVENTS + "  - {at: 1, fault: link_delay, link: a.1-a.2, delay: 1, §rate: 1}",
        "link_delay takes no rate; these faults do: link_bit_errors",
    ),
    (EVENTS + "  - {at: 1, clear: flap, gpu: a.1, §period: 9}", "'clear' takes no period; 'fault' does"),
    (EVENTS + "  - {at: 1, fault: flap, gpu: a.1, §periods: 9}", "unknown key 'periods'; did you mean 'period'?"),
    (
        EVENTS + "  - {at: 1, fault: flap, gpu: a.1, period: §1}",
        "timeline[0].period: found 1; allowed is a whole number, 2 .. 1000000",
    ),
    (EVENTS + "  - {at: 1, fault: flap, gpu: a.1, period: §1000001}", "period: found 1000001"),
    (EVENTS + "  - {at: 1, fault: flap, gpu: a.1, §period: }", "period: found nothing; allowed is a whole number"),
    (
        EVENTS + "  - {at: 1, fault: link_bit_errors, link: a.1-a.2, rate: §0}",
        "rate: found 0; allowed is a whole number, 1 .. 65535",
    ),
    (EVENTS + "  - {at: 1, fault: link_bit_errors, link: a.1-a.2, rate: §65536}", "rate: found 65536"),
    (
        EVENTS + "  - {at: 1, fault: link_delay, link: a.1-a.2, delay: §64}",
        "delay: found 64; allowed is a whole number, 1 .. 63",
    ),
    (EVENTS + "  - {at: 1, fault: link_delay, link: a.1-a.2, delay: §0}", "delay: found 0"),
    (
        EVENTS + "  - {at: 5, fault: link_one_way, link: a.1-a.2}\n  - {at: 6, fault: §link_one_way, link: a.1-a.2}",
        "link_one_way is active at a.1-a.2 since cycle 5",
    ),
    (
        EVENTS + "  - {at: 5, fault: link_one_way, link: a.1-a.2}\n  - {at: 6, clear: §link_one_way, link: a.2-a.1}",
        "link_one_way is not active at a.2-a.1 at cycle 6; set it first",
    ),
    (
        JOINED + "  - {at: 5, fault: link_delay, link: a.4-b.3}\n  - {at: 6, fault: §link_delay, link: b.3-a.4}",
        "link_delay is active at a.4-b.3 since cycle 5",
    ),
    (
        EVENTS
        + "  - {at: 5, fault: keepalive_loss, gpu: a.1}\n  - {at: 6, fault: §keepalive_loss, gpu: a.1, count: 2}",
        "keepalive_loss is active at a.1 since cycle 5",
    ),
    (EVENTS + "  - {at: 5, clear: §dead, gpu: a.1}", "dead is not active at a.1 at cycle 5"),
    (
        EVENTS + "  - {at: 5, clear: §dead, gpu: a.1}\n  - {at: 6, fault: dead, gpu: a.1}",
        "dead is not active at a.1 at cycle 5",
    ),
    (
        EVENTS + "  - {at: 1, fault: dead, gpu: a.1}\n  - {at: 5, clear: §hang, gpu: a.1}",
        "hang is not active at a.1",
    ),
    (
        EVENTS + "  - {at: 6, fault: §dead, gpu: a.1}\n  - {at: 5, fault: dead, gpu: a.1}",
        "dead is active at a.1 since cycle 5 (line 8); clear it before setting it again",
    ),
    (
        EVENTS + "  - {at: 5, fault: link_cut, link: a.1-a.2}\n  - {at: 5, fault: §link_cut, link: a.2-a.1}",
        "link_cut is active at a.1-a.2 since cycle 5",
    ),
    (EVENTS + "  - {at: 5, take_back: §a.1}", "timeline[0].take_back: a.1 is not lent at cycle 5; lend it first"),
    (
        EVENTS + "  - {at: 5, lend: a.1}\n  - {at: 6, lend: §a.1}",
        "a.1 is lent since cycle 5 (line 7); take it back first",
    ),
    (EVENTS + "  - {at: 5, lend: [a.1, §a.1]}", "timeline[0].lend[1]: a.1 stands here twice; each may once"),
    (EVENTS + "  - {at: 5, lend: a.1, §fault: dead}", "key 'fault' beside 'lend'; allowed is exactly one of fault"),
    (EVENTS + "  - {at: 5, lend: a.1, §gpu: a.1}", "'lend' takes no gpu; it names its GPU itself"),
    (EVENTS + "  - {at: 5, lend: §c.1}", "unknown card 'c'"),
    (EVENTS + "  - {at: 5, lend: §a.8}", "unknown GPU 'a.8'; card a has a.0 .. a.7"),
    # Expectations.
    (EXPECT + "§{count: {a: 1}}", "none of the keys that say which; allowed is exactly one of at, by, end"),
    (EXPECT + "{end: true, §at: 1, count: {a: 1}}", "key 'at' beside 'end'"),
    (EXPECT + "{by: §-5, count: {a: 1}}", "expect[0].by: cycle -5 is in the past"),
    (EXPECT + "{end: §false, count: {a: 1}}", "expect[0].end: found false; allowed is true"),
    (EXPECT + "{end: §1, count: {a: 1}}", "expect[0].end: found 1; allowed is true"),
    (EXPECT + "§{end: true}", "nothing to check; allowed: count, members, entry"),
    (EXPECT + "{end: true, §counts: {a: 1}}", "unknown key 'counts'; did you mean 'count'?"),
    (EXPECT + "{end: true, count: §{}}", "expect[0].count: found an empty mapping"),
    (EXPECT + "{end: true, count: {§c: 1}}", "expect[0].count: unknown card 'c'; cards are a, b, pair"),
    (EXPECT + "{end: true, count: {a: §9}}", "expect[0].count.a: found 9; card a has 8 GPUs"),
    (EXPECT + "{end: true, count: {a: §-1}}", "expect[0].count.a: found -1; allowed is a whole number, 0 .."),
    (EXPECT + "{end: true, members: {a: [1, §8]}}", "members.a[1]: unknown GPU 8; card a has 0 .. 7"),
    (EXPECT + "{end: true, members: {a: [1, 2, §1]}}", "members.a[2]: GPU 1 stands here twice"),
    (EXPECT + "{end: true, entry: {a: §a.2}}", "a.2 has no link to the CPU; host links of card a: a.0, a.1"),
    (EXPECT + "{end: true, entry: {a: §b.0}}", "b.0 is not on card a"),
    (EXPECT + "{end: true, entry: {a: §7}}", "entry.a: found 7; allowed is a GPU name"),
    (EXPECT + "{end: true, entry: {a: §[a.0]}}", "entry.a: found a list of length 1; allowed is a GPU name"),
    (EXPECT + "{end: true, boundary: {a: §a.4}}", "a.4 is in no boundary link; members on card a: none"),
    (LINKS + "{from: a.4, to: b.1}\nexpect: [{at: 1, boundary: {b: §b.4}}]", "members on card b: b.1"),
    (
        EXPECT + "{end: true, boundary: {a: §4}}",
        "boundary.a: found 4; allowed is a GPU name, card and index, such as a.3 or a list of at least 1 item, each",
    ),
    (EXPECT + "{end: true, boundary: {a: §[]}}", "boundary.a: found an empty list; allowed is a GPU name"),
    (EXPECT + "{end: true, boundary: {a: [§4]}}", "boundary.a[0]: found 4; allowed is a GPU name"),
    (BOUNDARY + "[a.4, §b.3]}}]", "boundary.a[1]: b.3 is not on card a"),
    (BOUNDARY + "[a.4, §a.3]}}]", "a.3 is in no boundary link; members on card a: a.4, a.5"),
    (BOUNDARY + "[a.4, §a.4]}}]", "a.4 stands here twice; each may once"),
    (BOUNDARY + "[a.4, §a.5]}}]", "a.5 is in boundary_links[0] as a.4 is; one GPU speaks for a link"),
    (EXPECT + "{end: true, epoch: {a: §-1}}", "epoch.a: found -1; allowed is a whole number, 0 .."),
    (EXPECT + "{end: true, epoch: {§c: 1}}", "expect[0].epoch: unknown card 'c'"),
    (EXPECT + "{end: true, stranded: {a: [1, §8]}}", "stranded.a[1]: unknown GPU 8; card a has 0 .. 7"),
    (EXPECT + "{end: true, stranded: {a: §3}}", "stranded.a: found 3; allowed is a list"),
    (EXPECT + "{end: true, isolated: {a: [1, §1]}}", "isolated.a[1]: GPU 1 stands here twice"),
    (EXPECT + "{end: true, break: {a: §a.4}}", "allowed is a link, the two GPUs at its ends, such as a.5-a.6 or null"),
    (EXPECT + "{end: true, break: {a: §a.4-a.8}}", "unknown GPU 'a.8'; card a has a.0 .. a.7"),
    (EXPECT + "{end: true, break: {a: §b.4-b.5}}", "b.4 is not on card a"),
    (
        EXPECT + "{end: true, work: §{}}",
        "expect[0].work: nothing to check; allowed: completed, lost, duplicated",
    ),
    (EXPECT + "{end: true, §work: {lost: 1}}", "expect[0]: there is no 'workload' in the file; it is about its units"),
    (
        SERVER + "workload: {units: 5}\nexpect: [{end: true, work: {completed: §6}}]",
        "expect[0].work.completed: found 6; the workload has 5 units",
    ),
    (
        "server: {cards: {a: {gpus: 4}}, settings: {link_restore: 64}}\n"
        "timeline: [{at: 5, fault: link_delay, link: a.1-a.2, delay: §40}]",
        "timeline[0].delay: link_delay: found 40; with a link_restore of 64 allowed are 1 .. 28",
    ),
    (
        "server: {cards: {a: {gpus: 4}}, settings: {allowance: 43691, allowance_period: 1024}}\n"
        "timeline: [{at: 5, fault: §babble, gpu: a.1}]",
        "timeline[0].fault: babble: an allowance of 43691 frames never mutes anybody; "
        "with an allowance_period of 1024 it may be 43690 at most",
    ),
    (
        "server: {cards: {a: {gpus: 4}, b: {gpus: 4}}, boundary_links: [{from: a.1, to: b.1}],"
        " settings: {records: never}}\nworkload: {units: 5, across: §10}",
        "workload.across: found 10; with `records: never` no boundary GPU is found, so allowed is 0",
    ),
    (EVENTS + "  - {at: 1, fault: dead, gpu: [a.1, §a.9]}", "timeline[0].gpu[1]: unknown GPU 'a.9'"),
    (EVENTS + "  - {at: 1, fault: dead, gpu: [a.1, §a.1]}", "timeline[0].gpu[1]: a.1 stands here twice; each may once"),
    (EVENTS + "  - {at: 1, fault: dead, gpu: §[]}", "timeline[0].gpu: found an empty list; allowed is a GPU name"),
    (EVENTS + "  - {at: 1, fault: dead, gpu: §axe}", "timeline[0].gpu: found 'axe'; allowed is a GPU name"),
    (
        EVENTS + "  - {at: 1, fault: link_cut, link: [a.1-a.2, §a.2-a.1]}",
        "timeline[0].link[1]: a.2-a.1 stands here twice",
    ),
    (
        EVENTS + "  - {at: 1, fault: dead, gpu: [a.1, a.2]}\n  - {at: 2, fault: §dead, gpu: [a.3, a.2]}",
        "dead is active at a.2 since cycle 1 (line 7); clear it before setting it again",
    ),
    (EXPECT + "{always: §false, count: {a: 8}}", "expect[0].always: found false; allowed is true"),
    (EXPECT + "{at: 9, §from: 5, count: {a: 8}}", "key 'from' beside 'at'; it goes with 'always'"),
    (EXPECT + "{end: true, §until: 5, count: {a: 8}}", "key 'until' beside 'end'; it goes with 'always'"),
    (EXPECT + "{always: true, from: §0, count: {a: 8}}", "from: found 0; allowed is a whole number, 1 .."),
    (EXPECT + "{always: true, from: 9, until: §8, count: {a: 8}}", "until: found 8; allowed is 9 ('from') or later"),
    (EXPECT + "{always: true, §at: 5, count: {a: 8}}", "key 'at' beside 'always'; allowed is exactly one of"),
    (EXPECT + "{end: true, truth: [a, §c]}", "expect[0].truth[1]: unknown card 'c'; cards are a, b, pair"),
    (EXPECT + "{end: true, truth: [a, §a]}", "expect[0].truth[1]: card a stands here twice; each may once"),
    (EXPECT + "{end: true, truth: §a}", "expect[0].truth: found 'a'; allowed is a list of at least 1 item"),
    (EXPECT + "{end: true, truth: §[]}", "expect[0].truth: found an empty list"),
    (
        SERVER + "invariants: {§wrong_counts: false}",
        "unknown key 'wrong_counts'; did you mean 'wrong_count'? allowed: ",
    ),
    # Beyond the end of the run.
    (
        ENDS + "timeline: [{at: §6000, fault: dead, gpu: a.3}]",
        f"timeline[0].at: found 6000; {ENDS_AT}: allowed is 5999",
    ),
    (ENDS + "timeline: [{at: §7000, fault: line_cut, card: a}]", f"timeline[0].at: found 7000; {ENDS_AT}"),
    (ENDS + "expect: [{at: §20000, count: {a: 6}}]", f"expect[0].at: found 20000; {ENDS_AT}: allowed is 6000 at most"),
    (ENDS + "expect: [{by: §6001, count: {a: 6}}]", f"expect[0].by: found 6001; {ENDS_AT}"),
    (ENDS + "expect: [{always: true, from: §6001, count: {a: 6}}]", f"expect[0].from: found 6001; {ENDS_AT}"),
    (ENDS + "expect: [{always: true, until: §6001, count: {a: 6}}]", f"expect[0].until: found 6001; {ENDS_AT}"),
    (
        ENDS + "sharing: {applications: {x: {gpu: a.0, steps: 1, compute: 1, start: §6000}}}",
        f"sharing.applications.x.start: found 6000; {ENDS_AT}: allowed is 5999",
    ),
    (
        ENDS + "switching: {gpu: a.1, cycle: 2000, tasks: {x: {layers: [{name: l, weights: 5000000, operations: 9}]}}, "
        "requests: [{task: x, after: §11999}]}",
        f"switching.requests[0].after: found 11999; {ENDS_AT}: allowed is 11998",
    ),
    # What changes nothing.
    (
        EVENTS + "  - {at: 5, fault: keepalive_loss, gpu: a.1, count: 2}\n"
        "  - {at: 5, fault: §keepalive_loss, gpu: a.1, count: 3}",
        "keepalive_loss is active at a.1 since cycle 5",
    ),
    # What is never looked at.
    (EXPECT + "{end: true, §shares: {a: 0}}", "expect[0]: there is no 'workload' in the file"),
    ("workload: {units: 0}\n" + EXPECT + "{end: true, §work: {lost: 0}}", "expect[0]: the workload has 0 units"),
    (EXPECT + "{end: true, applications: §{}, count: {a: 8}}", "found an empty mapping; allowed is a mapping of 1"),
    (SERVER + "invariants: {wrong_count: §0}", "invariants.wrong_count: found 0; allowed is true or false"),
    (SERVER + "invariants: §[]", "invariants: found an empty list; allowed is a mapping with the keys wrong_count"),
    (EXPECT + "{end: true, reachable: {a: §yes}}", "reachable.a: found 'yes'; allowed is true or false"),
]


@pytest.mark.parametrize(("text", "words"), WRONG, ids=[words[:60] for _, words in WRONG])
def test_a_wrong_file_is_told_where_and_what_is_allowed(text: str, words: str) -> None:
    assert words in str(refused(text))


def test_a_key_that_is_not_known_is_told_before_the_one_that_it_leaves_missing() -> None:
    assert "unknown key 'fualt'; did you mean 'fault'?" in str(refused(EVENTS + "  - {§fualt: dead}"))


def test_the_first_of_several_mistakes_is_told() -> None:
    assert "seed" in str(refused("seed: §x\nserver: {cards: {a: {gpus: y}}}"))


def test_the_only_card_is_named() -> None:
    text = "server: {cards: {a: {gpus: 2}}}\nexpect: [{end: true, count: {§b: 1}}]"
    assert "unknown card 'b'; the only card is a" in str(refused(text))


def test_long_and_strange_values_are_cut_and_escaped() -> None:
    message = str(refused('seed: "' + r"\u202e\x1b[31m" + "x" * 10_000 + '"\n' + SERVER))
    assert r"'\u202e\x1b[31m" in message
    assert message.isprintable()
    assert len(message) < 200
    assert len(str(refused("§" + "k" * 1000 + ": 1\n" + SERVER))) < 250
