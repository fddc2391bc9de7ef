from ringhil.firmware.boot import Boot, our_program
from ringhil.firmware.gpu import GpuProgram


class Program(GpuProgram):
    """The firmware under test."""

    def __init__(self, boot: Boot) -> None:
        ours = our_program(boot)
        super().__init__(ours.census_config, ours.entry_capable, ours.electors, ours.crossing, ours.behind)
