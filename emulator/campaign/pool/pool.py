"""What a campaign knows of those who do its work.

A campaign gives tasks in batches and hears one answer for each. Who does them, on which machine, and what becomes of a
task whose process has died, is the pool's business: a task that was given is heard of exactly once, unless `drop` or
`close` takes it back.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

T = TypeVar("T", bound=Hashable)
A = TypeVar("A")


@dataclass(frozen=True)
class Answered(Generic[T, A]):
    """A task that was done, and what came of it."""

    task: T
    answer: A


@dataclass(frozen=True)
class Lost(Generic[T]):
    """A task that nobody could do. `why`: one line, such as "the process that played it ended with exit code 1"."""

    task: T
    why: str


Heard = Answered[T, A] | Lost[T]


class Pool(ABC, Generic[T, A]):
    """Does tasks of type T, with answers of type A. Tasks of one batch are done one after the other, by one process."""

    @property
    @abstractmethod
    def room(self) -> int:
        """The number of batches that would be begun at once."""

    @property
    @abstractmethod
    def busy(self) -> bool:
        """Whether a task that was given is still to be heard of."""

    @abstractmethod
    def give(self, batch: Sequence[T]) -> None:
        """Have one or more tasks done, in this order. There must be room."""

    @abstractmethod
    def hear(self, timeout: float = 1.0) -> list[Heard[T, A]]:
        """What has come; waits at most `timeout` seconds for the first. The list may be empty."""

    @abstractmethod
    def drop(self, unwanted: Callable[[T], bool]) -> None:
        """Take back the tasks of which `unwanted` is true, also those that are being done."""

    @abstractmethod
    def close(self) -> None:
        """Take back all tasks, and let go of everything. When it returns, no process is left."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
