"""What is played to a node is told with the fields of each frame."""

from pathlib import Path

from ringhil.emulator.build.node_rtl import NODE, OURS
from ringhil.emulator.conformance.play import lines, played
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.stimulus import Send, Stimulus
from ringhil.protocol.frames import Statistics

FRAME = RingFrame.of(Statistics(0, 0, 4, 0, 1, 7, 1, 4, 4, 0))


def test_fields_of_frames_stand_in_text_and_json(tmp_path: Path) -> None:
    file = tmp_path / "stimulus.json"
    sent = [Send(2, "p1", FRAME), Send(40, "p1", FRAME.headless(2))]
    file.write_text(Stimulus.of(sent).to_json())
    observed = played(file, OURS, NODE, "verilator", None, lambda _: None)
    whole, headless = observed["arrived"]["p1"]
    (left, *_) = observed["left"]["p2"]
    assert (whole["fields"]["sequence"], whole["fields"]["count"], left["fields"]["count"]) == ("7", "1", "2")
    assert headless["fields"] == {}
    told = [line for line in lines(observed) if "p2" in line]
    assert "control statistics until" in told[0]
    assert "ttl 3, origin 0, epoch 1, sequence 7, count 2, " in told[0]
