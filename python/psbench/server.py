"""Servers: what is made of the gradients that trainers push."""

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
    """What a server knows of its run.

    trainers: that push to this server.
    buckets: that they push, in order of their index.
    seed: the run's --torch-seed.
    """

    trainers: int = 1
    buckets: Sequence[BucketSpec] = ()
    seed: int = 0


class Push(Gradient):
    """A gradient of a trainer that waits for an answer.

    Its ``values`` and ``rows`` are the trainer's memory: the server may read and overwrite them
    until it has answered. Keep a copy of what is needed longer.

    batch, bucket: of which iteration and bucket (a BucketSpec) it is.
    trainer: position among the trainers of this server, from 0.
    number: counts the trainer's pushes of the bucket, from 1, through all passes.
    """

    __slots__ = ("batch", "bucket", "trainer", "number", "index", "_server", "_answered")

    def __init__(self, server: Any, batch: int, bucket: BucketSpec, trainer: int, number: int, index: int, values: Any, rows: Any = None) -> None:
        super().__init__(values, rows)
        self.batch, self.bucket, self.trainer, self.number, self.index = batch, bucket, trainer, number, index
        self._server, self._answered = server, False

    @property
    def key(self) -> tuple[int, int]:
        """Batch and bucket: the key under which to record."""
        return self.batch, self.bucket.index

    def answer(self, gradient: Any = None, rows: Any = None) -> None:
        """Answers: the gradient takes the place of what the trainer pushed. Once for each push.

        It may be called at once or later, before the pass is over, from any thread. gradient is

        - nothing: what is in ``values`` now;
        - another push: what is in its memory. Answer that one last, since once answered its
          trainer may push again;
        - memory of ``Server.memory``, which must stay as it is until ``in_use`` is 0;
        - an array, which is copied: float32, of the bucket's elements, or [rows, width] of a
          sparse one, with the row numbers, ascending, as rows.
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
    """Memory of a server of its own, to answer with; see Server.memory."""

    __slots__ = ("index", "in_use")

    def __init__(self, index: int, values: Any, rows: Any = None) -> None:
        super().__init__(values, rows)
        self.index = index
        self.in_use = 0
        """Answers that trainers may still be reading; at 0 it may be written."""


class Server(Part):
    """A server of gradients: derive from it and write ``receive``; or see SynchronousServer.

    asynchronous: whether it answers before all of its trainers have pushed a batch. If it does
        not say so and does it all the same, the run ends.
    quorum: the name of a setting, an int, that says for how many trainers it waits, 0 for all;
        fewer make it asynchronous.
    ranks_differ: whether trainers may end with unequal parameters although it waits for all: it gives
        them different answers.

    answers: what it answers, which psbench compares with what came out: ``"mean"`` or ``"sum"``
        over its trainers, or ``"own"``, what ``answer`` says; nothing where nobody says it.

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
        """Takes a push: answers it, or keeps it to answer it later. It must not wait for another."""
        raise NotImplementedError(f"server {self.key} has no method receive(self, push)")

    def answer(self, exchange: Exchange) -> Answer:
        """Says what the server answers, of one with ``answers = "own"``; see Exchange for what it returns.

        ``psbench plugin check`` and ``psbench comm`` compare that with what came out. They ask a second
        server, which gets no pushes, for every bucket of every batch in order, after a reset.
        """
        raise NotImplementedError(f"server {self.key} has no method answer(self, exchange)")

    def memory(self, bucket: BucketSpec) -> OwnGradient:
        """Memory for a gradient of a bucket, for as long as the run lasts, that pushes can be answered with."""
        if self._role is not None:
            own: OwnGradient = self._role.memory_of(bucket)
            return own
        import numpy

        if bucket.sparse:
            return OwnGradient(-1, numpy.zeros((bucket.capacity, bucket.width), numpy.float32), numpy.zeros(bucket.capacity, numpy.int32))
        return OwnGradient(-1, numpy.zeros(bucket.elements, numpy.float32))


class SynchronousServer(Server):
    """A server that waits for all of its trainers and gives all the same answer::

        class Median(psbench.SynchronousServer):
            key = "median"

            def combine(self, gradients):
                return np.median(gradients, axis=0)

    How long combine takes is recorded as ``server_metric``, ``<key> computation``.
    """

    def combine(self, gradients: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """The answer to all trainers, of the shape that each of their gradients has.

        gradients are those of all trainers, in order; of a sparse bucket [rows, width], where
        combine is called for the rows that the same trainers have pushed, with what these
        have of them, and so must work element by element. They may be overwritten, and
        returned.
        """
        raise NotImplementedError(f"server {self.key} has no method combine(self, gradients)")

    def receive(self, push: Push) -> None:
        """Keeps a push, and answers all of the same batch and bucket once they are there."""
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
        """What combine makes of gradients, if it has their shape."""
        combined = self.combine(gradients)
        if getattr(combined, "shape", None) != gradients[0].shape:
            given = list(combined.shape) if hasattr(combined, "shape") else f"a {type(combined).__name__}"
            raise ValueError(f"combine returns {given}: it must return an array of {list(gradients[0].shape)}, as each gradient has")
        if not floating(combined):
            raise TypeError(f"combine returns {combined.dtype}: it must return an array of float32")
        return combined

    def _combine_rows(self, pushes: list[Push]) -> tuple[Any, Any]:
        """The union of the rows of sparse gradients, and what combine makes of each."""
        import numpy

        rows = numpy.unique(numpy.concatenate([p.rows for p in pushes]))  # type: ignore[type-var]
        place = numpy.full((len(pushes), len(rows)), -1)  # of each row in each push
        for i, p in enumerate(pushes):
            place[i, numpy.searchsorted(rows, p.rows)] = numpy.arange(len(p.rows))  # type: ignore[arg-type]
        values = numpy.empty((len(rows), pushes[0].values.shape[1]), numpy.float32)
        holders, group = numpy.unique(place >= 0, axis=1, return_inverse=True)
        for g in range(holders.shape[1]):
            chosen = group.reshape(-1) == g
            values[chosen] = self._combined([p.values[place[i, chosen]] for i, p in enumerate(pushes) if holders[i, g]])
        return rows, values

    def reset(self) -> None:
        """Forgets the pushes of a pass that failed."""
        self._pushed.clear()

    def _connect(self) -> None:
        self._pushed: dict[tuple[int, int], list[Push]] = {}
        self._computing = self.recorder.series("server_metric", f"{self.key} computation")
