"""Servers: pushes arrive, and are answered at once or later."""

from __future__ import annotations

import threading
from typing import Any

from ...gradients import BucketSpec
from ...server import OwnGradient, Push, Server
from .. import frames
from ..process import Process
from .reducing import ReducingRole


class ServerRole(ReducingRole):
    """Calls a server's receive and forwards its answers."""

    part: Server

    def __init__(self, process: Process, part: Any, request: Any) -> None:
        super().__init__(process, part, request)
        self._pushed: dict[int, tuple[Any, Any]] = {}  # values and rows, by tensor index
        self._owned: list[OwnGradient] = []
        self._lent: dict[tuple[int, int, int], OwnGradient] = {}  # by trainer, bucket and push number
        self._counting = threading.Lock()  # because answers come from any thread
        process.moved = lambda role, index: self._pushed.pop(index, None)
        process.serve(frames.RECEIVE, self._receive, "receive")
        process.serve(frames.ANSWERED, self._answered, "answered")

    def _receive(self, flags: int, batch: int, bucket: int, rows: int, trainer: int, number: int) -> None:
        index = trainer * len(self._specs) + bucket
        tensors = self._pushed.get(index) or self._tensors(index, self._specs[bucket])
        push = Push(self, batch, self._specs[bucket], trainer, number, index, *tensors)
        if tensors[1] is not None:
            push.set_rows(rows)
        self.part.receive(push)
        self.process.link.send(frames.RECEIVED, bucket=bucket, arg=trainer, arg2=number)  # type: ignore[union-attr]

    def _answer(self, push: Push, gradient: Push | OwnGradient) -> None:
        """Sends an answer, from any thread."""
        role = frames.PUSH
        if isinstance(gradient, OwnGradient):
            role = frames.OWN
            with self._counting:
                gradient.in_use += 1
            self._lent[push.trainer, push.bucket.index, push.number] = gradient
        self.process.link.send(  # type: ignore[union-attr]
            frames.ANSWER, role, gradient.index, push.bucket.index, gradient._count(), push.trainer, push.number)

    def _answered(self, flags: int, batch: int, bucket: int, rows: int, trainer: int, number: int) -> None:
        own = self._lent.pop((trainer, bucket, number), None)
        if own is not None:
            with self._counting:
                own.in_use -= 1

    def _tensors(self, index: int, spec: BucketSpec) -> tuple[Any, Any]:
        values = self.memory.tensor(frames.PUSH, index)
        if spec.sparse:
            rows = self.memory.tensor(frames.PUSH_ROWS, index)[:spec.capacity]
            self._pushed[index] = values[:spec.capacity * spec.width].reshape(spec.capacity, spec.width), rows
        else:
            self._pushed[index] = values[:spec.elements], None
        return self._pushed[index]

    def memory_of(self, bucket: BucketSpec) -> OwnGradient:
        """See psbench.Server.memory: a segment of the host."""
        elements = bucket.capacity * bucket.width if bucket.sparse else bucket.elements
        behind = -(-4 * elements // 64) * 64  # start of the rows
        segment = self.process.allocate(max(behind + 4 * bucket.capacity, 64))
        view, send, index = self.memory.view, self.process.link.send, len(self._owned)  # type: ignore[union-attr]
        values, rows = view(segment, 0, elements, "float32"), None
        send(frames.TENSOR, frames.OWN, 0, index, segment, 0, elements)
        if bucket.sparse:
            values, rows = values.reshape(bucket.capacity, bucket.width), view(segment, behind, bucket.capacity, "int32")
            send(frames.TENSOR, frames.OWN_ROWS, 0, index, segment, behind, bucket.capacity)
        self._owned.append(OwnGradient(index, values, rows))
        return self._owned[-1]
