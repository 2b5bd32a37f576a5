"""Hooks: what happens to a bucket of gradients before the optimizer steps."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Generator, Sequence
from typing import ClassVar, Union

from .exchange import Answer, Exchange
from .gradients import Bucket, BucketSpec
from .parts import Env, Part


@dataclasses.dataclass
class HookEnv(Env):
    """What a hook knows of its run.

    trainers: of the run, the members of the groups.
    buckets: those that it will be given to reduce, in order of their index.
    seed: the run's --torch-seed.
    """

    trainers: int = 1
    buckets: Sequence[BucketSpec] = ()
    seed: int = 0


class HookState:
    """What a hook knows of the trainer's progress when it gets a bucket."""

    __slots__ = ("batch", "_bucket")

    batch: int
    """Counts iterations, from 0."""

    def __init__(self, batch: int = 0, bucket: int = 0) -> None:
        self.batch, self._bucket = batch, bucket

    @property
    def key(self) -> tuple[int, int]:
        """Batch and bucket: the key under which to record."""
        return self.batch, self._bucket


class Operation:
    """An operation on a bucket that a hook asks for: return it or yield it from ``reduce``."""

    __slots__ = ("bucket", "op", "flags", "arg")

    def __init__(self, bucket: Bucket, op: int, flags: int = 0, arg: int = 0) -> None:
        if not isinstance(bucket, Bucket):
            raise TypeError(f"an operation is on a bucket, not on {_what(bucket)}: give it the one that reduce was given")
        self.bucket, self.op, self.flags, self.arg = bucket, op, flags, arg
        bucket._made.append(self)

    @property
    def name(self) -> str:
        """The method of the link that makes it, as in average."""
        return _NAMES[self.op]

    def __repr__(self) -> str:
        link = "server" if self.name == "push_pull" else "default" if self.flags else "group"
        return f"self.{link}.{self.name}(bucket)"

    def _asked(self) -> None:
        """Notes that it was returned or yielded."""
        if self in self.bucket._made:
            self.bucket._made.remove(self)


_NAMES = {
    0x69: "push_pull", 0x6A: "all_reduce", 0x6B: "average", 0x6C: "broadcast", 0x6D: "reduce_scatter", 0x6E: "all_gather", 0x6F: "all_to_all",
}


def check_asked(hook: Hook, bucket: Bucket) -> None:
    """Raises if the hook made an operation on the bucket that its reduction never asked for."""
    if bucket._made:
        forgotten = bucket._made[0]
        word = "yield" if inspect.isgeneratorfunction(hook.reduce) else "return"
        raise RuntimeError(
            f"it made {forgotten!r} of bucket {bucket.index} and neither returned nor yielded it, so psbench never ran it: "
            f'write "{word} {forgotten!r}"')


class Server:
    """The link to the trainer's parameter server."""

    def push_pull(self, bucket: Bucket) -> Operation:
        """Pushes the bucket; what the server answers, such as the average, takes its place."""
        return Operation(bucket, 0x69)


class Group:
    """A process group of all trainers. Each asks for the same operations on a bucket and batch."""

    def __init__(self, flags: int = 0) -> None:
        self._flags = flags

    def all_reduce(self, bucket: Bucket) -> Operation:
        """Leaves the sum of all trainers' buckets in each."""
        return Operation(bucket, 0x6A, self._flags)

    def average(self, bucket: Bucket) -> Operation:
        """Leaves the sum, divided by the trainers, in each."""
        return Operation(bucket, 0x6B, self._flags)

    def broadcast(self, bucket: Bucket, root: int = 0) -> Operation:
        """Leaves the bucket of the trainer at position root in each."""
        return Operation(bucket, 0x6C, self._flags, root)

    def reduce_scatter(self, bucket: Bucket) -> Operation:
        """Leaves in each trainer its own part of the sum; see comm.Group for the parts."""
        return Operation(bucket, 0x6D, self._flags)

    def all_gather(self, bucket: Bucket) -> Operation:
        """Leaves in each the own parts of all."""
        return Operation(bucket, 0x6E, self._flags)

    def all_to_all(self, bucket: Bucket) -> Operation:
        """Exchanges equal parts: part i goes to the trainer at position i."""
        return Operation(bucket, 0x6F, self._flags)


Reduction = Union[None, Operation, Generator[Operation, None, Union[None, Operation]]]
"""What ``reduce`` may return, or be."""


class Hook(Part):
    """Reduces buckets of gradients: derive from it and write ``reduce``.

    A hook names its links, and finds them as attributes: ``server`` (push and pull with the
    trainer's server), ``group`` (all trainers) and ``default`` (a second group of the same
    trainers, for a collective beside those of the first)::

        class Half(psbench.Hook):
            key = "half"
            links = ("group",)

            def reduce(self, state, bucket):
                bucket.values *= 0.5
                return self.group.average(bucket)

    ranks_differ: whether trainers may end with unequal parameters, as those that gossip do. If it
        does not say so and they do, the result has a warning.
    answers: what it leaves in a bucket, which psbench compares with what came out: ``"mean"`` or
        ``"sum"`` over the trainers, ``"as KEY"``, of a built-in hook (``"as rpc"``), or ``"own"``,
        what ``answer`` says. A hook that only comes near to one of these, as one that compresses
        does, says nothing, or has an ``answer``.

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
        """Reduces a bucket: changes ``bucket.values`` in place, and asks for operations.

        It may return None (the bucket is reduced), or an operation such as
        ``self.group.average(bucket)``, which ends the reduction when it is done. Or it is a
        generator that yields operations one after the other and goes on once each has ended.
        Several buckets may be on their way at once, each with a generator of its own. An
        operation that it makes on the bucket and neither returns nor yields ends the run.

        ``bucket.values`` is a float32 view of the trainer's own memory: [elements] of a dense
        bucket, [rows, width] of a sparse one, whose row numbers are ``bucket.rows``; an
        operation may change how many rows there are. The memory is the hook's until it returns
        (of a generator: until it ends), but for the time of an operation.
        """
        raise NotImplementedError(f"hook {self.key} has no method reduce(self, state, bucket)")

    def answer(self, exchange: Exchange) -> Answer:
        """Says what it leaves in a bucket, of a hook with ``answers = "own"``; see Exchange for what it returns.

        ``psbench plugin check`` and ``psbench comm`` compare that with what came out. They ask the hook
        itself, once a bucket is reduced, for every bucket of every batch in order; so what it keeps
        from batch to batch it keeps once more for this, of all trainers.
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
    """A value, as sentences for authors name it."""
    kind = type(value).__name__
    shape = getattr(value, "shape", None)
    return f"{getattr(value, 'dtype', kind)} {list(shape)}" if shape is not None else f"{kind} {value!r}"[:100]
