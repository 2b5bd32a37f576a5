"""Data: the samples of a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .parts import Env, Part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclasses.dataclass
class DataEnv(Env):
    """A data part's information about its run.

    trainers: the number of trainers that share the batches.
    seed: the run's --torch-seed.
    batch_size: the run's --batch-size.
    criterion: the key of the run's criterion.
    wanted: the kind of targets of that criterion: "classes", "numbers", "shares" or "probabilities"; see
        psbench.Criterion.
    """

    trainers: int = 1
    seed: int = 0
    batch_size: int = 1
    criterion: str = ""
    wanted: str = "classes"


@dataclasses.dataclass(frozen=True)
class Limits:
    """The requirements of the run's model on the samples; see psbench.Inputs."""

    rows: int = 0
    features: int = 0
    classes: int = 0
    targets: int = 1
    looked_up: int = 0
    tables: Sequence[int] = ()


@dataclasses.dataclass
class Samples:
    """Samples. Each has numbers, a bag of indices, or both, and its targets.

    features: float32 [samples, features], or None.
    targets: integers or floats, [samples] or [samples, targets]. Floats become float32. If all targets are
        classes of the model, they become classes. Integers that are not classes become numbers if the
        criterion takes numbers.
    indices, offsets: integers; the bag of sample i is ``indices[offsets[i]:offsets[i + 1]]``, so there is
        one more offset than samples. None if there are no bags.
    batches: sizes of the batches in order, if the data part forms them itself; None: the run's --batch-size
        applies.
    held_out: samples for evaluating the model after each epoch; they are not used in training.
    origin: returns the source of a sample's number, for errors: origin(sample, position) is a text such as
        "train.csv, line 3". Positions from 0 are indices, then features; -1 is the first target, -2 the
        second.
    """

    features: NDArray[np.float32] | None = None
    targets: NDArray[Any] | None = None
    indices: NDArray[Any] | None = None
    offsets: NDArray[Any] | None = None
    batches: Sequence[int] | None = None
    held_out: Samples | None = None
    origin: Callable[[int, int], str] | None = None


class Data(Part):
    """Base class of the samples of a run. Write ``load``."""

    kind = "data"
    Environment = DataEnv

    env: DataEnv

    def load(self, limits: Limits) -> Samples:
        """Reads or creates all samples. It is called once.

        Before training starts, psbench checks each number against the limits. It forms batches in order and
        distributes them. It copies the arrays.
        """
        raise NotImplementedError(f"data {self.key} has no method load(self, limits)")
