"""Fields that many events have."""

from typing import Annotated

Cycle = Annotated[int, "in which it happened"]
Cell = Annotated[int, "number of the GPU in the server; `Places` has its name"]
Card = Annotated[int, "number of the card, in the order of the file"]
Why = Annotated[str, "in words"]
