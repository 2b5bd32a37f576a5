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
    """What a criterion knows of its run.

    max_batch: the run's --batch-size; batches that the data cuts itself may be larger.
    """

    max_batch: int = 1


class Criterion(Part):
    """A loss: derive from it and write forward and backward, which are called in turn.

    targets: what it takes as targets; psbench checks each of them before training starts.
        "classes": whole numbers from 0.
        "numbers": finite numbers, one for each column of the output; "shares": the same, from 0 to 1.
        "probabilities": one of each class, together 1; or classes.
    """

    kind = "criterion"
    Environment = CriterionEnv
    targets: ClassVar[str] = "classes"

    env: CriterionEnv

    def forward(self, output: NDArray[np.float32], targets: NDArray[Any]) -> float:
        """The mean loss of a batch: output is float32 [samples, columns].

        Targets are int64 [samples] where they are classes, and else float32 [samples, columns]. A
        criterion of numbers or shares gets float32 always: a class is the number of its whole row.

        Both are only to be read, and stay as they are until backward has returned.
        """
        raise NotImplementedError(f"criterion {self.key} has no method forward(self, output, targets)")

    def backward(self, output_gradient: NDArray[np.float32]) -> None:
        """Overwrites output_gradient, [samples, columns], with the gradient of that loss."""
        raise NotImplementedError(f"criterion {self.key} has no method backward(self, output_gradient)")
