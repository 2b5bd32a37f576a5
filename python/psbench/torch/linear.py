"""Linear layers that compute the gradient of their weight where psbench wants it."""

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
    """Has the large linear layers of a module compute the gradient of tensors[k] by product(k).

    Autograd makes a new tensor for each gradient, which must then be copied: beside a small batch
    that costs a tenth of a step. Only layers that are nn.Linear itself are changed, whose weight is
    theirs alone; their results stay what they were.
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
    """input weight^T + bias, the gradient of whose weight is a product of its own."""

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
