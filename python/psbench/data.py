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
    """What data knows of its run.

    trainers: that the batches are shared out among.
    seed: the run's --torch-seed.
    batch_size: the run's --batch-size.
    criterion: the key of the run's criterion.
    wanted: what that takes as targets: "classes", "numbers", "shares" or "probabilities"; see
        psbench.Criterion.
    """

    trainers: int = 1
    seed: int = 0
    batch_size: int = 1
    criterion: str = ""
    wanted: str = "classes"


@dataclasses.dataclass(frozen=True)
class Limits:
    """What the samples must hold, as the run's model takes them; see psbench.Inputs."""

    rows: int = 0
    features: int = 0
    classes: int = 0
    targets: int = 1
    looked_up: int = 0
    tables: Sequence[int] = ()


@dataclasses.dataclass
class Samples:
    """Samples, each with numbers, a bag of indices, or both, and with its targets.

    features: float32 [samples, features], or None.
    targets: integers or floats, [samples] or [samples, targets]. Floats are kept as float32. Those that
        are all classes of the model become classes, and integers that are not become numbers where the
        criterion takes those.
    indices, offsets: integers; the bag of sample i is ``indices[offsets[i]:offsets[i + 1]]``, so
        there is one offset more than samples. None without bags.
    batches: samples of each batch, in order, where the data cuts them itself; None: the run's
        --batch-size does.
    held_out: samples that are not trained on; the model is evaluated on them after each epoch.
    origin: says where a number of a sample came from, for errors: origin(sample, position) is a
        text such as "train.csv, line 3". Positions from 0 are indices, then features; -1 is the
        first target, -2 the second.
    """

    features: NDArray[np.float32] | None = None
    targets: NDArray[Any] | None = None
    indices: NDArray[Any] | None = None
    offsets: NDArray[Any] | None = None
    batches: Sequence[int] | None = None
    held_out: Samples | None = None
    origin: Callable[[int, int], str] | None = None


class Data(Part):
    """The samples of a run: derive from it and write ``load``."""

    kind = "data"
    Environment = DataEnv

    env: DataEnv

    def load(self, limits: Limits) -> Samples:
        """Reads or makes all samples; it is called once.

        psbench checks each number against the limits before training starts, cuts batches in
        order and shares them out. The arrays are copied.
        """
        raise NotImplementedError(f"data {self.key} has no method load(self, limits)")
