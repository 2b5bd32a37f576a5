"""Hooks: what happens to a bucket of gradients before the optimizer steps."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Generator, Sequence
from typing import Any, ClassVar, Union

from .exchange import Answer, Exchange
from .gradients import Bucket, BucketSpec
from .parts import Env, Part
from .traffic import Plan


@dataclasses.dataclass
class HookEnv(Env):
    """A hook's information about its run.

    trainers: number of trainers of the run; all are members of the groups.
    buckets: the buckets that the hook will reduce, in order of their index.
    seed: the run's --torch-seed.
    """

    trainers: int = 1
    buckets: Sequence[BucketSpec] = ()
    seed: int = 0


@dataclasses.dataclass
class PlanEnv(Env):
    """What a hook knows when it plans its traffic. All ranks must make the same plan.

    trainers: number of trainers of the run.
    buckets: the buckets that the hook will reduce. The capacity of sparse buckets is not known yet.
    """

    trainers: int = 1
    buckets: Sequence[BucketSpec] = ()


class HookState:
    """The trainer's progress at the time when the hook gets a bucket."""

    __slots__ = ("batch", "_bucket")

    batch: int
    """Counts iterations, from 0."""

    def __init__(self, batch: int = 0, bucket: int = 0) -> None:
        self.batch, self._bucket = batch, bucket

    @property
    def key(self) -> tuple[int, int]:
        """Batch and bucket: the key for records."""
        return self.batch, self._bucket


class Operation:
    """An operation on a bucket. A hook returns or yields it from ``reduce`` to request it."""

    __slots__ = ("bucket", "op", "flags", "arg")

    def __init__(self, bucket: Bucket, op: int, flags: int = 0, arg: int = 0) -> None:
        if not isinstance(bucket, Bucket):
            raise TypeError(f"an operation is on a bucket, not on {_what(bucket)}: give it the one that reduce was given")
        self.bucket, self.op, self.flags, self.arg = bucket, op, flags, arg
        bucket._made.append(self)

    @property
    def name(self) -> str:
        """The name of the link's method that created it, such as average."""
        return _NAMES[self.op]

    def __repr__(self) -> str:
        if self.op == ROUND:
            return f"self.round(bucket, {self.arg})"
        link = "server" if self.name == "push_pull" else "default" if self.flags else "group"
        return f"self.{link}.{self.name}(bucket)"

    def _asked(self) -> None:
        """Records that it was returned or yielded."""
        if self in self.bucket._made:
            self.bucket._made.remove(self)


_NAMES = {
    0x69: "push_pull", 0x6A: "all_reduce", 0x6B: "average", 0x6C: "broadcast", 0x6D: "reduce_scatter", 0x6E: "all_gather", 0x6F: "all_to_all", 0x72: "round",
}
ROUND = 0x72


def check_asked(hook: Hook, bucket: Bucket) -> None:
    """Raises an error if the hook created an operation on the bucket without returning or yielding it."""
    if bucket._made:
        forgotten = bucket._made[0]
        word = "yield" if inspect.isgeneratorfunction(hook.reduce) else "return"
        raise RuntimeError(
            f"it made {forgotten!r} of bucket {bucket.index} and neither returned nor yielded it, so psbench never ran it: "
            f'write "{word} {forgotten!r}"')


class Server:
    """The link to the trainer's parameter server."""

    def push_pull(self, bucket: Bucket) -> Operation:
        """Pushes the bucket. The server's answer, such as the average, replaces its content."""
        return Operation(bucket, 0x69)


class Group:
    """A process group of all trainers. All must request the same operations on a bucket and batch."""

    def __init__(self, flags: int = 0) -> None:
        self._flags = flags

    def all_reduce(self, bucket: Bucket) -> Operation:
        """Replaces each trainer's bucket by the sum of all trainers' buckets."""
        return Operation(bucket, 0x6A, self._flags)

    def average(self, bucket: Bucket) -> Operation:
        """Replaces each trainer's bucket by the average of all trainers' buckets."""
        return Operation(bucket, 0x6B, self._flags)

    def broadcast(self, bucket: Bucket, root: int = 0) -> Operation:
        """Replaces each trainer's bucket by that of the trainer at position root."""
        return Operation(bucket, 0x6C, self._flags, root)

    def reduce_scatter(self, bucket: Bucket) -> Operation:
        """Leaves each trainer with its own part of the sum; see comm.Group for the parts."""
        return Operation(bucket, 0x6D, self._flags)

    def all_gather(self, bucket: Bucket) -> Operation:
        """Gives each trainer the own parts of all trainers."""
        return Operation(bucket, 0x6E, self._flags)

    def all_to_all(self, bucket: Bucket) -> Operation:
        """Exchanges equal parts: each trainer sends part i to the trainer at position i."""
        return Operation(bucket, 0x6F, self._flags)


Reduction = Union[None, Operation, Generator[Operation, None, Union[None, Operation]]]
"""What ``reduce`` may return, or be."""


class Hook(Part):
    """Base class of hooks, which reduce buckets of gradients. Write ``reduce``.

    A hook names its links and gets them as attributes: ``server`` (push and pull with the trainer's
    server), ``group`` (all trainers) and ``default`` (a second group of the same trainers, for a collective
    in parallel with those of the first)::

        class Half(psbench.Hook):
            key = "half"
            links = ("group",)

            def reduce(self, state, bucket):
                bucket.values *= 0.5
                return self.group.average(bucket)

    ranks_differ: whether trainers may end with different parameters, as in gossip algorithms. If they do
        without this declaration, the result has a warning.
    answers: the declared content of a reduced bucket, which psbench compares with the actual content:
        ``"mean"`` or ``"sum"`` over the trainers, ``"as KEY"`` for the result of a built-in hook (``"as
        rpc"``), or ``"own"`` for the result of ``answer``. A hook that only approximates one of these, for
        example by compression, declares nothing or has an ``answer``.

    Order of calls: setup, then for each pass reset, and reduce for every bucket of every batch.
    """

    kind = "hook"
    Environment = HookEnv
    links: ClassVar[Sequence[str]] = ()
    ranks_differ: ClassVar[bool] = False
    answers: ClassVar[str] = ""

    env: HookEnv
    server: Server
    group: Group
    default: Group

    def reduce(self, state: HookState, bucket: Bucket) -> Reduction:
        """Reduces a bucket: changes ``bucket.values`` in place and requests operations.

        It may return None (the bucket is reduced), or an operation such as ``self.group.average(bucket)``,
        whose end completes the reduction. Or it is a generator that yields operations one after the other
        and continues when each has ended. Several buckets may be in flight at once, each with its own
        generator. If the hook creates an operation on the bucket but neither returns nor yields it, the run
        ends with an error.

        ``bucket.values`` is a float32 view of the trainer's own memory: [elements] of a dense bucket,
        [rows, width] of a sparse one, whose row numbers are ``bucket.rows``; an operation may change the
        number of rows. The hook owns the memory until it returns (for a generator: until it ends), except
        during an operation.
        """
        raise NotImplementedError(f"hook {self.key} has no method reduce(self, state, bucket)")

    @classmethod
    def plan(cls, settings: Any, env: PlanEnv) -> Plan:
        """Plans the traffic: for each bucket, the rounds of operations on payloads of their own.

        Override it if the hook sends something else than its buckets. psbench calls it once, before it creates
        the hook, and lays memory and links for the plan. ``reduce`` is then a generator for each bucket with
        rounds: it fills ``bucket.payloads[k]`` and yields ``self.round(bucket, k)`` for each round k in order.
        After the last round it writes the reduced gradient into ``bucket.values``::

            class Bf16(psbench.Hook):
                key = "bf16"
                links = ("group",)

                @classmethod
                def plan(cls, settings, env):
                    return [[[psbench.Transfer("average", "bfloat16", b.elements)]] for b in env.buckets]

                def reduce(self, state, bucket):
                    bucket.payloads[0][0][:] = psbench.to_bfloat16(bucket.values)
                    yield self.round(bucket, 0)
                    bucket.values[:] = psbench.from_bfloat16(bucket.payloads[0][0])

        A plan that pushes to the server plans rounds for every bucket, unless the hook reduces the others over
        a group.
        """
        raise NotImplementedError(f"hook {cls.key} has no class method plan(cls, settings, env)")

    def round(self, bucket: Bucket, number: int) -> Operation:
        """The operations of a round that the hook has planned for the bucket."""
        return Operation(bucket, ROUND, 0, number)

    def answer(self, exchange: Exchange) -> Answer:
        """Returns the expected content of a reduced bucket, for a hook with ``answers = "own"``. Exchange
        describes the possible results.

        ``psbench plugin check`` and ``psbench comm`` compare it with the actual content. They call it on
        the same hook once a bucket is reduced, for every bucket of every batch in order. So a hook with
        state across batches must keep that state of all trainers a second time for this method.
        """
        raise NotImplementedError(f"hook {self.key} has no method answer(self, exchange)")

    def _connect(self) -> None:
        for name in self.links:
            setattr(self, name, {"server": Server, "group": Group}.get(name, lambda: Group(1))())

    def __getattr__(self, name: str) -> object:
        if name in ("server", "group", "default"):
            raise AttributeError(f'hook {self.key} has no link "{name}": name it in links = ("{name}",)')
        raise AttributeError(f"{type(self).__name__} has no attribute {name}")


def _what(value: object) -> str:
    """A value's name in messages for authors."""
    kind = type(value).__name__
    shape = getattr(value, "shape", None)
    return f"{getattr(value, 'dtype', kind)} {list(shape)}" if shape is not None else f"{kind} {value!r}"[:100]
