"""Servers, which answer the gradients that trainers push."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from .exchange import Answer, Exchange
from .gradients import BucketSpec, Gradient, floating
from .parts import Env, Part, now

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclasses.dataclass
class ServerEnv(Env):
    """A server's information about its run.

    trainers: number of trainers that push to this server.
    buckets: the pushed buckets, in order of their index.
    seed: the run's --torch-seed.
    """

    trainers: int = 1
    buckets: Sequence[BucketSpec] = ()
    seed: int = 0


class Push(Gradient):
    """A trainer's gradient that waits for an answer.

    Its ``values`` and ``rows`` are in the trainer's memory. The server may read and overwrite them until it
    has answered. Copy data that is needed longer.

    batch, bucket: its iteration and its bucket (a BucketSpec).
    trainer: position among the trainers of this server, from 0.
    number: number of the push among the trainer's pushes of the bucket in all passes, from 1.
    """

    __slots__ = ("batch", "bucket", "trainer", "number", "index", "_server", "_answered")

    def __init__(self, server: Any, batch: int, bucket: BucketSpec, trainer: int, number: int, index: int, values: Any, rows: Any = None) -> None:
        super().__init__(values, rows)
        self.batch, self.bucket, self.trainer, self.number, self.index = batch, bucket, trainer, number, index
        self._server, self._answered = server, False

    @property
    def key(self) -> tuple[int, int]:
        """Batch and bucket: the key for records."""
        return self.batch, self.bucket.index

    def answer(self, gradient: Any = None, rows: Any = None) -> None:
        """Answers: the gradient replaces the trainer's pushed gradient. Call it once for each push.

        It may be called at once or later, before the pass is over, from any thread. gradient is

        - nothing: the current content of ``values``;
        - another push: the content of its memory. Answer that push last, because its trainer may push again
          after its answer;
        - memory of ``Server.memory``, which must not change until ``in_use`` is 0;
        - an array, which is copied: float32 of the bucket's elements, or [rows, width] for a sparse bucket
          with the ascending row numbers as rows.
        """
        if self._answered:
            raise ValueError(f"{self} was answered before: each push is answered once")
        if not (gradient is None or isinstance(gradient, (Push, OwnGradient))):
            self._take(str(self), gradient, rows, "another push, or an array of float32")
            gradient = None
        if gradient is not None and gradient._all_values.shape != self._all_values.shape:
            raise ValueError(f"{self} is answered with {list(gradient._all_values.shape)}: it must be of the same bucket, {list(self._all_values.shape)}")
        if isinstance(gradient, Push) and gradient._answered:
            raise ValueError(f"{self} is answered with {gradient}, which was answered before and may hold the next push: answer it last")
        self._answered = True
        self._server._answer(self, gradient if gradient is not None else self)

    def __repr__(self) -> str:
        return f"the push of batch {self.batch}, bucket {self.bucket.index} of trainer {self.trainer}"


class OwnGradient(Gradient):
    """Memory of the server itself for answers; see Server.memory."""

    __slots__ = ("index", "in_use")

    def __init__(self, index: int, values: Any, rows: Any = None) -> None:
        super().__init__(values, rows)
        self.index = index
        self.in_use = 0
        """Answers that trainers may still be reading; at 0 it may be written."""


class Server(Part):
    """Base class of servers of gradients. Write ``receive``, or see SynchronousServer.

    asynchronous: whether it answers before all of its trainers have pushed a batch. Without this
        declaration, an early answer ends the run.
    quorum: the name of an int setting: how many trainers the server waits for, 0 for all. If it waits for
        fewer than all, it is asynchronous.
    ranks_differ: whether trainers may end with different parameters although the server waits for all,
        because it gives them different answers.

    answers: its declared answer, which psbench compares with the actual one: ``"mean"`` or ``"sum"`` over
        its trainers, or ``"own"`` for the result of ``answer``. If it is empty, psbench compares nothing.

    Order of calls: setup, then for each pass reset, and receive for each push.
    """

    kind = "server"
    Environment = ServerEnv
    asynchronous: ClassVar[bool] = False
    quorum: ClassVar[str] = ""
    ranks_differ: ClassVar[bool] = False
    answers: ClassVar[str] = ""

    env: ServerEnv

    def receive(self, push: Push) -> None:
        """Handles a push: answers it, or keeps it and answers later. It must not wait for another push."""
        raise NotImplementedError(f"server {self.key} has no method receive(self, push)")

    def answer(self, exchange: Exchange) -> Answer:
        """Returns the expected answer, for a server with ``answers = "own"``. Exchange describes the
        possible results.

        ``psbench plugin check`` and ``psbench comm`` compare it with the actual answer. They call it on a
        second server, which gets no pushes, after a reset and for every bucket of every batch in order.
        """
        raise NotImplementedError(f"server {self.key} has no method answer(self, exchange)")

    def memory(self, bucket: BucketSpec) -> OwnGradient:
        """Memory for a gradient of a bucket. It lasts for the whole run and may be used as an answer to
        pushes."""
        if self._role is not None:
            own: OwnGradient = self._role.memory_of(bucket)
            return own
        import numpy

        if bucket.sparse:
            return OwnGradient(-1, numpy.zeros((bucket.capacity, bucket.width), numpy.float32), numpy.zeros(bucket.capacity, numpy.int32))
        return OwnGradient(-1, numpy.zeros(bucket.elements, numpy.float32))


class SynchronousServer(Server):
    """Base class of a server that waits for all of its trainers and gives all the same answer::

        class Median(psbench.SynchronousServer):
            key = "median"

            def combine(self, gradients):
                return np.median(gradients, axis=0)

    The duration of combine is recorded as ``server_metric``, ``<key> computation``.
    """

    def combine(self, gradients: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """The answer to all trainers, in the shape of one gradient.

        gradients has the gradients of all trainers, in order. For a sparse bucket, combine is called once
        for each set of rows that the same trainers have pushed. It gets those trainers' rows, each [rows,
        width], so it must work element by element. The gradients may be overwritten and returned.
        """
        raise NotImplementedError(f"server {self.key} has no method combine(self, gradients)")

    def receive(self, push: Push) -> None:
        """Keeps a push, and answers all pushes of the same batch and bucket once all have arrived."""
        pushes = self._pushed.setdefault(push.key, [])
        pushes.append(push)
        if len(pushes) < self.env.trainers:
            return
        del self._pushed[push.key]
        pushes.sort(key=lambda p: p.trainer)
        start = now()
        first = pushes[0]
        if push.sparse:
            rows, values = self._combine_rows(pushes)
            first.set_rows(len(rows))
            first.rows[:], first.values[...] = rows, values  # type: ignore[index]
        else:
            combined = self._combined([p.values for p in pushes])
            if combined is not first.values:
                first.values[...] = combined
        self._computing.record(push.key, start, now())
        for other in pushes[1:]:
            other.answer(first)
        first.answer()

    def _combined(self, gradients: list[Any]) -> Any:
        """The result of combine. Raises an error unless it has the shape of the gradients."""
        combined = self.combine(gradients)
        if getattr(combined, "shape", None) != gradients[0].shape:
            given = list(combined.shape) if hasattr(combined, "shape") else f"a {type(combined).__name__}"
            raise ValueError(f"combine returns {given}: it must return an array of {list(gradients[0].shape)}, as each gradient has")
        if not floating(combined):
            raise TypeError(f"combine returns {combined.dtype}: it must return an array of float32")
        return combined

    def _combine_rows(self, pushes: list[Push]) -> tuple[Any, Any]:
        """The union of the rows of sparse gradients, and the result of combine for each row."""
        import numpy

        rows = numpy.unique(numpy.concatenate([p.rows for p in pushes]))  # type: ignore[type-var]
        place = numpy.full((len(pushes), len(rows)), -1)  # position of each row in each push
        for i, p in enumerate(pushes):
            place[i, numpy.searchsorted(rows, p.rows)] = numpy.arange(len(p.rows))  # type: ignore[arg-type]
        values = numpy.empty((len(rows), pushes[0].values.shape[1]), numpy.float32)
        holders, group = numpy.unique(place >= 0, axis=1, return_inverse=True)
        for g in range(holders.shape[1]):
            chosen = group.reshape(-1) == g
            values[chosen] = self._combined([p.values[place[i, chosen]] for i, p in enumerate(pushes) if holders[i, g]])
        return rows, values

    def reset(self) -> None:
        """Drops the pushes of a failed pass."""
        self._pushed.clear()

    def _connect(self) -> None:
        self._pushed: dict[tuple[int, int], list[Push]] = {}
        self._computing = self.recorder.series("server_metric", f"{self.key} computation")
