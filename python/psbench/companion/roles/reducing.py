"""Common code of hooks and servers: buckets, and queries for their answers."""

from __future__ import annotations

from typing import Any

from ...exchange import Exchange, Outcome
from ...gradients import BucketSpec, Gradient
from .. import frames
from ..process import Process
from .role import Role, bucket_specs


class ReducingRole(Role):
    """A part that reduces buckets."""

    def __init__(self, process: Process, part: Any, request: Any) -> None:
        super().__init__(process, part, request)
        self._specs: tuple[BucketSpec, ...] = ()
        process.serve(frames.EXPECT, self._expect, "answer")

    def connect(self, links: Any) -> None:
        self._specs = bucket_specs(links.buckets)
        role = self._request.companion
        self.make(trainers=role.trainers, buckets=self._specs, seed=role.seed)

    def _expect(self, flags: int, batch: int, index: int, rows: int, rank: int, count: int) -> None:
        spec = self._specs[index]
        counts = self.memory.tensor(frames.ASKED_COUNTS)
        gradients = self._asked(spec, count + 1)
        for gradient, n in zip(gradients, counts):
            if spec.sparse:
                gradient.set_rows(int(n))
        answer = gradients.pop()
        exchange = Exchange(batch, spec, gradients, rank)
        said = self.part.answer(exchange)  # type: ignore[union-attr]
        operation = 0
        if isinstance(said, Outcome):
            operation = said.op
        else:
            values, of_rows = (said.values, said.rows) if isinstance(said, Gradient) else said if type(said) is tuple and len(said) == 2 else (said, None)
            answer._take(str(exchange), values, of_rows, "exchange.average(), another operation of it, one of its gradients, an array of float32, or of a sparse bucket a pair (values, rows)")
        counts[:count + 1] = [g._count() for g in (*gradients, answer)]
        self.process.link.send(frames.EXPECT, 0, batch, index, 0, operation)  # type: ignore[union-attr]

    def _asked(self, spec: BucketSpec, count: int) -> list[Gradient]:
        """Memory for so many gradients, one after the other."""
        room = spec.capacity * spec.width if spec.sparse else spec.elements
        values = self.memory.tensor(frames.ASKED)[:count * room].reshape(count, room)
        if not spec.sparse:
            return [Gradient(v) for v in values]
        rows = self.memory.tensor(frames.ASKED_ROWS)[:count * spec.capacity].reshape(count, spec.capacity)
        return [Gradient(v.reshape(spec.capacity, spec.width), r) for v, r in zip(values, rows)]
