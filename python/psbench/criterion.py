"""Criteria: losses."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar

from .parts import Env, Part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


TARGETS = ("classes", "numbers", "shares", "probabilities")
"""What a criterion may take as targets."""


@dataclasses.dataclass
class CriterionEnv(Env):
    """A criterion's information about its run.

    max_batch: the run's --batch-size; batches that the data part forms itself may be larger.
    """

    max_batch: int = 1


class Criterion(Part):
    """Base class of a loss. Write forward and backward, which are called in turn.

    targets: the accepted kind of targets; psbench checks each target before training starts.
        "classes": whole numbers from 0.
        "numbers": finite numbers, one for each column of the output; "shares": such numbers from 0 to 1.
        "probabilities": one for each class, with sum 1; or classes.
    """

    kind = "criterion"
    Environment = CriterionEnv
    targets: ClassVar[str] = "classes"

    env: CriterionEnv

    def forward(self, output: NDArray[np.float32], targets: NDArray[Any]) -> float:
        """Returns the mean loss of a batch. output is float32 [samples, columns].

        Targets are int64 [samples] if they are classes, and otherwise float32 [samples, columns]. A
        criterion of numbers or shares always gets float32: a class becomes the number for its whole row.

        Both are read-only and do not change until backward has returned.
        """
        raise NotImplementedError(f"criterion {self.key} has no method forward(self, output, targets)")

    def backward(self, output_gradient: NDArray[np.float32]) -> None:
        """Overwrites output_gradient, [samples, columns], with the gradient of that loss."""
        raise NotImplementedError(f"criterion {self.key} has no method backward(self, output_gradient)")
