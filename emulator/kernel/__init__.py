"""The virtual-time kernel: one clock and one order of events for RTL, firmware and CPU.

Nothing here looks at a wall clock. What happens at the same cycle happens in the order in which it was
scheduled, so the same inputs give the same run.
"""

from ringhil.emulator.kernel.kernel import Kernel

__all__ = ["Kernel"]
