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
    """What a model knows of its run.

    max_batch: the run's --batch-size; batches that the data cuts itself may be larger.
    threads: that the model may compute with.
    first_tensor: number of the model's first parameter among the run's tensors.
    seed: the run's --torch-seed.
    """

    max_batch: int = 1
    threads: int = 1
    first_tensor: int = 0
    seed: int = 0


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter of a model. The gradient of a sparse one, a table, is a list of its rows."""

    name: str
    shape: Sequence[int]
    sparse: bool = False


@dataclasses.dataclass(frozen=True)
class Inputs:
    """What a model takes; data is checked against it before training starts.

    features: numbers of each sample.
    classes: bounds the targets, 0 <= target < classes.
    targets: how many each sample has.
    rows: bounds the indices of a bag, 0 <= index < rows; 0: there are no bags.
    tables: rows of each table where there are several (rows is 0 then): each bag has an index
        for each table, in order.
    looked_up: of the features, the last ones: rows that a hybrid trainer looks up.
    outputs: columns of the output, one for each number of a target that is no class; 0: not said.
    bag_length: indices of every bag; 0: any number; -1: any number, but all bags of a batch have as
        many, as a matrix has.
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
    """Samples, in memory that is only to be read and belongs to the next batch afterwards.

    size: how many samples there are.
    features: float32 [size, features].
    targets: int64 [size], or [size, targets] where samples have several; float32 [size, targets] where
        they are numbers.
    indices, offsets: int64; the bag of sample i is ``indices[offsets[i]:offsets[i + 1]]``.
        Empty where samples have no bags.
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
    """Computes outputs and gradients: derive from it and write the methods below.

    ranks_differ: whether trainers may end with unequal parameters, since step changes them in another
        way on each.
    stochastic: whether it draws random numbers, as dropout does, so that the same batch has other outputs
        each time. initialize must begin them anew.
    smallest_batch: how many samples the smallest batch has that it can train on: 2 with batch
        normalization, for one.

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
        """What the model takes."""
        raise NotImplementedError(f"model {self.key} has no method inputs(self)")

    def bind(self, values: Sequence[NDArray[np.float32]], gradients: Sequence[Gradient]) -> None:
        """Is handed the memory of parameters and gradients, which is the trainer's, once.

        ``values[k]`` has the shape of parameter k and is read, by forward, and written, by
        initialize and step. ``gradients[k].values`` has that shape too, or is some rows of it,
        whose numbers are ``gradients[k].rows``: write them after ``gradients[k].set_rows(n)``.
        """
        self.values, self.gradients = values, gradients

    def initialize(self, seed: int) -> None:
        """Writes the initial values, which depend on the seed alone."""
        raise NotImplementedError(f"model {self.key} has no method initialize(self, seed)")

    def forward(self, batch: Batch) -> NDArray[np.float32]:
        """The output for a batch, float32 [batch.size, columns]; batch and output stay until the next one.

        It is copied, unless it lies in memory of ``self.output(rows, columns)``.
        """
        raise NotImplementedError(f"model {self.key} has no method forward(self, batch)")

    def evaluate(self, batch: Batch) -> NDArray[np.float32]:
        """As forward, of samples that are not trained on: no backward follows."""
        return self.forward(batch)

    def backward(self, output_gradient: NDArray[np.float32], emit: Emit) -> None:
        """Overwrites all gradients, given that of the loss with respect to the last output.

        It calls ``emit(k)`` as soon as gradient k is complete, once for each parameter, in any
        order: its bucket may be reduced while the rest is computed. That of reverse order
        starts earliest.
        """
        raise NotImplementedError(f"model {self.key} has no method backward(self, output_gradient, emit)")

    def backward_input(self, output_gradient: NDArray[np.float32], feature_gradient: NDArray[np.float32], emit: Emit) -> None:
        """May be missing: as backward, and overwrites feature_gradient, [size, features], too."""
        raise NotImplementedError(f"model {self.key} has no method backward_input(self, output_gradient, feature_gradient, emit)")

    def step(self) -> None:
        """May be missing: changes the values by the reduced gradients, in the place of psbench's optimizer."""
        raise NotImplementedError(f"model {self.key} has no method step(self)")

    def output(self, rows: int, columns: int) -> NDArray[np.float32]:
        """Memory for an output, float32 [rows, columns], which forward may return without a copy.

        It is there from bind on, and is the same again for the same shape.
        """
        if self._role is not None:
            memory: NDArray[np.float32] = self._role.output_of(rows, columns)
            return memory
        import numpy

        return numpy.empty((rows, columns), numpy.float32)
