"""Linear layers that compute the gradient of their weight directly in psbench's memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional

LEAST = 1 << 16
"""Elements of a weight from which it pays: a function of Python costs as much as copying fewer."""

Product = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""The product of two matrices, maybe in memory of its own."""


def place_weights(module: nn.Module, tensors: Sequence[nn.Parameter], product: Callable[[int], Product]) -> None:
    """Makes the large linear layers of a module compute the gradient of tensors[k] by product(k).

    Autograd creates a new tensor for each gradient, which must then be copied. With a small batch, this
    copy costs a tenth of a step. Only layers of class nn.Linear itself whose weight is not shared are
    changed. Their results stay the same.
    """
    numbers = {id(tensor): k for k, tensor in enumerate(tensors)}
    owners: dict[int, int] = {}
    for layer in module.modules():
        for parameter in layer._parameters.values():
            owners[id(parameter)] = owners.get(id(parameter), 0) + 1
    for layer in module.modules():
        weight = layer._parameters.get("weight")
        if type(layer) is nn.Linear and weight is not None and id(weight) in numbers and owners[id(weight)] == 1 and weight.numel() >= LEAST:
            layer.forward = _forward(layer, product(numbers[id(weight)]))  # type: ignore[method-assign]


def _forward(layer: nn.Linear, product: Product) -> Callable[[torch.Tensor], torch.Tensor]:
    def forward(input: torch.Tensor) -> torch.Tensor:
        if not torch.is_grad_enabled():
            return functional.linear(input, layer.weight, layer.bias)
        output: torch.Tensor = _Linear.apply(input, layer.weight, layer.bias, product)
        return output

    return forward


class _Linear(torch.autograd.Function):
    """Computes input weight^T + bias. The weight's gradient is computed by a separate product."""

    @staticmethod
    def forward(ctx: Any, input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, product: Product) -> torch.Tensor:
        ctx.save_for_backward(input, weight)
        ctx.product = product
        return functional.linear(input, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        input, weight = ctx.saved_tensors
        rows = gradient.reshape(-1, gradient.shape[-1])
        of_input = of_weight = of_bias = None
        if ctx.needs_input_grad[0]:
            of_input = torch.mm(rows, weight).view(input.shape)
        if ctx.needs_input_grad[1]:
            of_weight = ctx.product(rows.t(), input.reshape(-1, input.shape[-1]))
        if ctx.needs_input_grad[2]:
            of_bias = rows.sum(0)
        return of_input, of_weight, of_bias, None
