"""A loss of torch as a criterion."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

import psbench

from .inputs import tensor_of

_OF_NUMBERS = (nn.MSELoss, nn.L1Loss, nn.SmoothL1Loss, nn.HuberLoss, nn.BCELoss, nn.BCEWithLogitsLoss)


class TorchCriterion(psbench.Criterion):
    """A loss as a criterion. psbench.torch.parts makes a class of it for each loss."""

    loss: ClassVar[Any]

    def setup(self) -> None:
        self._numbers = isinstance(self.loss, _OF_NUMBERS)

    def forward(self, output: np.ndarray, targets: np.ndarray) -> float:
        self._output = tensor_of(output).requires_grad_()
        wanted = tensor_of(targets)
        if self._numbers:
            wanted = wanted.to(torch.float32).unsqueeze(1).expand_as(self._output)
        self._loss = self.loss(self._output, wanted)
        if not isinstance(self._loss, torch.Tensor) or self._loss.numel() != 1:
            raise ValueError(f"the loss {type(self.loss).__name__} gave no single number for the batch: it must give their mean")
        return self._loss.item()

    def backward(self, output_gradient: np.ndarray) -> None:
        gradient, = torch.autograd.grad(self._loss, self._output)
        torch.from_numpy(output_gradient).copy_(gradient)
