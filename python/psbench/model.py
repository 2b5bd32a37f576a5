"""Models: outputs and gradients."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from .gradients import Gradient
from .parts import Env, Part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclasses.dataclass
class ModelEnv(Env):
    """A model's information about its run.

    max_batch: the run's --batch-size; batches that the data part forms itself may be larger.
    threads: most threads for the model's computation.
    first_tensor: number of the model's first parameter among the run's tensors.
    seed: the run's --torch-seed.
    """

    max_batch: int = 1
    threads: int = 1
    first_tensor: int = 0
    seed: int = 0


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter of a model. If it is sparse, it is a table whose gradient is a list of rows."""

    name: str
    shape: Sequence[int]
    sparse: bool = False


@dataclasses.dataclass(frozen=True)
class Inputs:
    """The inputs that a model accepts. psbench checks the data against them before training starts.

    features: numbers of each sample.
    classes: bounds the targets, 0 <= target < classes.
    targets: number of targets of each sample.
    rows: bounds the indices of a bag, 0 <= index < rows; 0: there are no bags.
    tables: rows of each table, if there are several (rows is 0 then); each bag has an index for each table,
        in order.
    looked_up: how many of the last features are rows that a hybrid trainer looks up.
    outputs: columns of the output, one for each number of a target that is not a class; 0: unspecified.
    bag_length: indices of every bag; 0: any number; -1: any number, but the same for all bags of a batch,
        as in a matrix.
    """

    features: int = 0
    classes: int = 0
    targets: int = 1
    rows: int = 0
    tables: Sequence[int] = ()
    looked_up: int = 0
    outputs: int = 0
    bag_length: int = 0


class Batch:
    """Samples in read-only memory, which is reused for the next batch.

    size: number of samples.
    features: float32 [size, features].
    targets: int64 [size], or [size, targets] if samples have several; float32 [size, targets] if they are
        numbers.
    indices, offsets: int64; the bag of sample i is ``indices[offsets[i]:offsets[i + 1]]``. Empty if samples
        have no bags.
    """

    __slots__ = ("size", "features", "targets", "indices", "offsets")

    features: NDArray[np.float32]
    targets: NDArray[np.int64] | NDArray[np.float32]
    indices: NDArray[np.int64]
    offsets: NDArray[np.int64]

    def __init__(self, size: int, features: Any, targets: Any, indices: Any, offsets: Any) -> None:
        self.size, self.features, self.targets, self.indices, self.offsets = size, features, targets, indices, offsets

    def bag(self, sample: int) -> NDArray[np.int64]:
        """The bag of indices of a sample."""
        return self.indices[self.offsets[sample]:self.offsets[sample + 1]]


Emit = Callable[[int], None]
"""Says that the gradient of parameter k is complete; may be called from any thread."""


class Model(Part):
    """Base class of models, which compute outputs and gradients. Write the methods below.

    ranks_differ: whether trainers may end with different parameters, because step changes them differently
        on each trainer.
    stochastic: whether the model draws random numbers, as for dropout, so that the outputs of the same
        batch vary. initialize must restart the random numbers.
    smallest_batch: number of samples of the smallest batch for training; for example, 2 with batch
        normalization.

    Order of calls: setup, parameters, inputs, bind, then for each pass reset and initialize, and
    for each iteration forward and backward; evaluate between epochs.
    """

    kind = "model"
    Environment = ModelEnv
    ranks_differ: ClassVar[bool] = False
    stochastic: ClassVar[bool] = False
    smallest_batch: ClassVar[int] = 1

    env: ModelEnv
    values: Sequence[NDArray[np.float32]]
    """The parameters, once they are bound."""
    gradients: Sequence[Gradient]
    """Their gradients."""

    def parameters(self) -> Sequence[Parameter]:
        """The parameters, in the order in which the forward pass uses them."""
        raise NotImplementedError(f"model {self.key} has no method parameters(self)")

    def inputs(self) -> Inputs:
        """The inputs that the model accepts."""
        raise NotImplementedError(f"model {self.key} has no method inputs(self)")

    def bind(self, values: Sequence[NDArray[np.float32]], gradients: Sequence[Gradient]) -> None:
        """Receives, once, the trainer's memory for parameters and gradients.

        ``values[k]`` has the shape of parameter k. forward reads it; initialize and step write it.
        ``gradients[k].values`` has the same shape or, for a sparse parameter, some rows of it. Their
        numbers are ``gradients[k].rows``: write both after ``gradients[k].set_rows(n)``.
        """
        self.values, self.gradients = values, gradients

    def initialize(self, seed: int) -> None:
        """Writes the initial values, which must depend only on the seed."""
        raise NotImplementedError(f"model {self.key} has no method initialize(self, seed)")

    def forward(self, batch: Batch) -> NDArray[np.float32]:
        """The output for a batch, float32 [batch.size, columns]. Batch and output stay valid until the next
        batch.

        psbench copies the output, unless it is in memory of ``self.output(rows, columns)``.
        """
        raise NotImplementedError(f"model {self.key} has no method forward(self, batch)")

    def evaluate(self, batch: Batch) -> NDArray[np.float32]:
        """Like forward, for evaluation samples: no backward follows."""
        return self.forward(batch)

    def backward(self, output_gradient: NDArray[np.float32], emit: Emit) -> None:
        """Overwrites all gradients. The argument is the gradient of the loss with respect to the last
        output.

        It calls ``emit(k)`` as soon as gradient k is complete, once for each parameter, in any order. Its
        bucket may be reduced while the rest is computed. In reverse order, reductions start earliest.
        """
        raise NotImplementedError(f"model {self.key} has no method backward(self, output_gradient, emit)")

    def backward_input(self, output_gradient: NDArray[np.float32], feature_gradient: NDArray[np.float32], emit: Emit) -> None:
        """Optional: like backward, and also overwrites feature_gradient, [size, features]."""
        raise NotImplementedError(f"model {self.key} has no method backward_input(self, output_gradient, feature_gradient, emit)")

    def step(self) -> None:
        """Optional: updates the values by the reduced gradients instead of psbench's optimizer."""
        raise NotImplementedError(f"model {self.key} has no method step(self)")

    def output(self, rows: int, columns: int) -> NDArray[np.float32]:
        """Memory for an output, float32 [rows, columns]. forward may return it, which avoids a copy.

        It is available from bind on, and the same shape gives the same memory.
        """
        if self._role is not None:
            memory: NDArray[np.float32] = self._role.output_of(rows, columns)
            return memory
        import numpy

        return numpy.empty((rows, columns), numpy.float32)
