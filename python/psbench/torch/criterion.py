"""A loss of torch as a criterion."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

import psbench

from .inputs import tensor_of

_KINDS = {
    "numbers": (nn.MSELoss, nn.L1Loss, nn.SmoothL1Loss, nn.HuberLoss, nn.PoissonNLLLoss),
    "shares": (nn.BCELoss, nn.BCEWithLogitsLoss, nn.MultiLabelSoftMarginLoss),
    "probabilities": (nn.CrossEntropyLoss,),
}


def targets_of(loss: Any) -> str:
    """The kind of targets of a torch loss, a value of psbench.Criterion.targets. For any other loss, it is
    classes."""
    for kind, losses in _KINDS.items():
        if isinstance(loss, losses):
            return kind
    return "classes"


class TorchCriterion(psbench.Criterion):
    """A loss as a criterion. psbench.torch.parts derives a class for each loss."""

    loss: ClassVar[Any]

    def forward(self, output: np.ndarray, targets: np.ndarray) -> float:
        self._output = tensor_of(output).requires_grad_()
        wanted = tensor_of(targets)
        if self.targets in ("numbers", "shares") and wanted.dim() == 1:
            wanted = wanted.to(torch.float32).unsqueeze(1).expand_as(self._output)
        self._loss = self.loss(self._output, wanted)
        if not isinstance(self._loss, torch.Tensor) or self._loss.numel() != 1:
            raise ValueError(f"the loss {type(self.loss).__name__} gave no single number for the batch: it must give their mean")
        return self._loss.item()

    def backward(self, output_gradient: np.ndarray) -> None:
        gradient, = torch.autograd.grad(self._loss, self._output)
        torch.from_numpy(output_gradient).copy_(gradient)
