"""Classes of values: `@value(frozen=True, slots=True)` is a dataclass that type checkers keep from being changed.

Nothing else does: a frozen dataclass sets each field by a call, and a run makes thousands of frames and events. That
was a third of all that Python did in a case of a campaign. They can be hashed and compared like frozen ones.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as value
else:
    from dataclasses import dataclass

    def value(*, frozen: bool, slots: bool) -> Any:
        """See above."""
        return dataclass(slots=slots, unsafe_hash=frozen)


__all__ = ["value"]
