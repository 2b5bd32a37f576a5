"""Criteria: losses."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from .parts import Env, Part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclasses.dataclass
class CriterionEnv(Env):
    """What a criterion knows of its run.

    max_batch: the run's --batch-size; batches that the data cuts itself may be larger.
    """

    max_batch: int = 1


class Criterion(Part):
    """A loss: derive from it and write forward and backward, which are called in turn."""

    kind = "criterion"
    Environment = CriterionEnv

    env: CriterionEnv

    def forward(self, output: NDArray[np.float32], targets: NDArray[np.int64]) -> float:
        """The mean loss of a batch: output is [samples, columns], targets [samples].

        Both are only to be read, and stay as they are until backward has returned.
        """
        raise NotImplementedError(f"criterion {self.key} has no method forward(self, output, targets)")

    def backward(self, output_gradient: NDArray[np.float32]) -> None:
        """Overwrites output_gradient, [samples, columns], with the gradient of that loss."""
        raise NotImplementedError(f"criterion {self.key} has no method backward(self, output_gradient)")
