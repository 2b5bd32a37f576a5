"""Declared answers of hooks and servers."""

from __future__ import annotations

import dataclasses
from typing import Any, Union

from .gradients import BucketSpec, Gradient


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The result of an operation on the gradients of an exchange. Return it from ``answer``."""

    op: int


Answer = Union[Outcome, Gradient, Any]
"""What ``answer`` may return; see Exchange."""


class Exchange:
    """One reduction of a bucket, for which psbench asks a part for the expected result.

    batch, bucket: its iteration and its bucket (a BucketSpec).
    gradients: the previous content of the bucket, of all trainers by rank; for a server, of its own
        trainers by position. They are copies and may be overwritten.
    rank: the index in gradients of the trainer that gets the answer.

    ``answer`` returns one of

    - ``exchange.average()``, ``sum()`` or ``push_pull()``: the result of that operation on the current
      gradients;
    - an array of the bucket's elements; for a sparse bucket a pair: the values, [rows, width], and the
      ascending row numbers;
    - one of gradients.

    A relative deviation of 1e-5 counts as equal, because the order of sums is unspecified::

        def answer(self, exchange):
            for g in exchange.gradients:
                g.values *= 0.5
            return exchange.average()
    """

    __slots__ = ("batch", "bucket", "gradients", "rank")

    def __init__(self, batch: int, bucket: BucketSpec, gradients: list[Gradient], rank: int = 0) -> None:
        self.batch, self.bucket, self.gradients, self.rank = batch, bucket, gradients, rank

    def sum(self) -> Outcome:
        """The sum of all gradients, as after a group's all_reduce."""
        return Outcome(0x6A)

    def average(self) -> Outcome:
        """The sum divided by the number of gradients."""
        return Outcome(0x6B)

    def push_pull(self) -> Outcome:
        """For a hook: the answer of the trainer's server after its trainers have pushed their gradients."""
        return Outcome(0x69)

    def __repr__(self) -> str:
        return f"batch {self.batch}, bucket {self.bucket.index}"
