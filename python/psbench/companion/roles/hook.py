"""Hooks: buckets arrive, and are returned once their operations have ended."""

from __future__ import annotations

from types import GeneratorType
from typing import Any

from ... import traffic
from ...gradients import Bucket
from ...hook import ROUND, Hook, HookState, Operation, PlanEnv, check_asked
from .. import frames
from ..faults import Fault
from ..process import Process
from . import plans
from .reducing import ReducingRole
from .role import bucket_specs


class HookRole(ReducingRole):
    """Calls a hook's reduce and continues it when its operations end."""

    part: Hook | None

    def __init__(self, process: Process, part: Any, request: Any) -> None:
        super().__init__(process, part, request)
        self._buckets: dict[int, Bucket] = {}
        self._states: dict[int, HookState] = {}
        self._reductions: dict[int, GeneratorType[Any, None, Any]] = {}
        self._plan: list[dict[str, Any]] = []  # by bucket
        process.moved = lambda role, index: self._buckets.pop(index, None) if role in (frames.BUCKET, frames.BUCKET_ROWS) else None
        process.serve(frames.REDUCE, self._reduce, "reduce")
        process.serve(frames.ENDED, self._ended, "reduce")

    def connect(self, links: Any) -> None:
        if plans(self._class) and not self._plan:
            raise Fault(f"{self.title} plans its traffic, but this psbench lays no plans: update it")
        super().connect(links)

    def plan(self, buckets: Any) -> list[dict[str, Any]]:
        request = self._request
        env = PlanEnv(request.rank, request.name, request.companion.trainers, bucket_specs(buckets))
        self._plan = self.call("plan", lambda: list(traffic.described(self._class.plan(self._settings, env))))  # type: ignore[attr-defined]
        return self._plan

    def _reduce(self, flags: int, batch: int, index: int, rows: int, arg: int, arg2: int) -> None:
        bucket = self._buckets.get(index) or self._bucket(index)
        state = self._states[index]
        state.batch = batch
        if bucket._rows is not None:
            bucket.set_rows(rows)
        asked = self.part.reduce(state, bucket)  # type: ignore[union-attr]
        if type(asked) is GeneratorType:
            self._reductions[index] = asked
            self._go_on(asked, state, bucket)
        else:
            self._last(asked, state, bucket)

    def _ended(self, flags: int, batch: int, index: int, rows: int, arg: int, arg2: int) -> None:
        bucket = self._buckets[index]
        if bucket._rows is not None:
            bucket.set_rows(rows)
        self._go_on(self._reductions[index], self._states[index], bucket)

    def _go_on(self, reduction: GeneratorType[Any, None, Any], state: HookState, bucket: Bucket) -> None:
        """Runs a generator up to its next operation or its end."""
        try:
            operation = next(reduction)
        except StopIteration as end:
            del self._reductions[bucket.index]
            self._last(end.value, state, bucket)
            return
        if type(operation) is not Operation:
            raise TypeError(f"it yields {_given(operation)}: it must yield operations, such as self.group.average(bucket)")
        self._ask(operation, operation.flags, state, bucket)

    def _last(self, asked: Any, state: HookState, bucket: Bucket) -> None:
        """Ends a reduction: with a last operation, or none."""
        if asked is None:
            check_asked(self.part, bucket)  # type: ignore[arg-type]
            self.process.link.send(frames.REDUCED, 0, state.batch, bucket.index, bucket._count())  # type: ignore[union-attr]
        elif type(asked) is Operation and asked.op == ROUND:
            raise TypeError(f"it returns {asked!r}: it must yield it, and then write the reduced gradient into bucket.values")
        elif type(asked) is Operation:
            self._ask(asked, asked.flags | frames.DONE, state, bucket)
        else:
            raise TypeError(f"it returns {_given(asked)}: it must return None, or an operation such as self.group.average(bucket), or be a generator of operations")

    def _ask(self, operation: Operation, flags: int, state: HookState, bucket: Bucket) -> None:
        if operation.bucket is not bucket:
            raise ValueError(f"it was given {bucket} and asks for an operation on {operation.bucket}: each reduction is of its own bucket")
        operation._asked()
        if flags & frames.DONE:
            check_asked(self.part, bucket)  # type: ignore[arg-type]
        self.process.link.send(operation.op, flags, state.batch, bucket.index, bucket._count(), operation.arg)  # type: ignore[union-attr]

    def _bucket(self, index: int) -> Bucket:
        """The bucket with this index, in the form for the hook."""
        spec, memory = self._specs[index], self.memory
        values = memory.tensor(frames.BUCKET, index)
        if spec.sparse:
            rows = memory.tensor(frames.BUCKET_ROWS, index)[:spec.capacity]
            bucket = Bucket(spec, values[:spec.capacity * spec.width].reshape(spec.capacity, spec.width), rows)
        else:
            bucket = Bucket(spec, values[:spec.elements])
        bucket.payloads = self._payloads(index)
        self._buckets[index], self._states[index] = bucket, HookState(0, index)
        return bucket

    def _payloads(self, index: int) -> tuple[tuple[Any, ...], ...]:
        """The payloads of a bucket. They are numbered over all buckets, rounds and operations of the plan."""
        number = sum(len(r["operations"]) for bucket in self._plan[:index] for r in bucket["rounds"])
        payloads: list[tuple[Any, ...]] = []
        for r in self._plan[index]["rounds"] if index < len(self._plan) else ():
            views = []
            for o in r["operations"]:
                memory = self.memory.tensor(frames.PAYLOAD, number)
                views.append(memory.view(traffic.TYPES[o["type"]])[:o["elements"]])
                number += 1
            payloads.append(tuple(views))
        return tuple(payloads)  # an assignment to an element, instead of its content, is an error


def _given(value: object) -> str:
    return f"a {type(value).__name__}" if not isinstance(value, (int, float, str)) else repr(value)
