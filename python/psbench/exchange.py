"""What hooks and servers say that they answer."""

from __future__ import annotations

import dataclasses
from typing import Any, Union

from .gradients import BucketSpec, Gradient


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What an operation makes of the gradients of an exchange: return it from ``answer``."""

    op: int


Answer = Union[Outcome, Gradient, Any]
"""What ``answer`` may return; see Exchange."""


class Exchange:
    """One reduction of a bucket, of which a part is asked what comes out.

    batch, bucket: of which iteration and bucket (a BucketSpec) it is.
    gradients: what was in the bucket before, of all trainers by rank; for a server those of its own
        trainers, by their position. They are copies, which may be overwritten.
    rank: whose answer it is: a place in gradients.

    ``answer`` returns one of

    - ``exchange.average()``, ``sum()`` or ``push_pull()``: what that operation makes of what is in gradients
      then;
    - an array, of the bucket's elements; of a sparse bucket a pair, the values, [rows, width], and
      the row numbers, ascending;
    - one of gradients.

    A relative deviation of 1e-5 is no difference, since the order of sums is open::

        def answer(self, exchange):
            for g in exchange.gradients:
                g.values *= 0.5
            return exchange.average()
    """

    __slots__ = ("batch", "bucket", "gradients", "rank")

    def __init__(self, batch: int, bucket: BucketSpec, gradients: list[Gradient], rank: int = 0) -> None:
        self.batch, self.bucket, self.gradients, self.rank = batch, bucket, gradients, rank

    def sum(self) -> Outcome:
        """The sum of all gradients, as a group's all_reduce leaves it."""
        return Outcome(0x6A)

    def average(self) -> Outcome:
        """The sum, divided by how many gradients there are."""
        return Outcome(0x6B)

    def push_pull(self) -> Outcome:
        """What the trainer's server answers, of a hook, when the trainers of that server push their gradients."""
        return Outcome(0x69)

    def __repr__(self) -> str:
        return f"batch {self.batch}, bucket {self.bucket.index}"
