"""Your own torch model: an ordinary nn.Module with autograd becomes a model of psbench.

::

    import psbench.torch
    from torch import nn

    def build_model():
        return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))

    if __name__ == "__main__":
        psbench.torch.serve(build_model, loss=nn.CrossEntropyLoss())

This script is a plugin. Its parameters are in the memory that psbench's optimizers and reductions use.
psbench gets each gradient as soon as autograd finishes it, so that reductions overlap with the rest of the
backward pass.

build_model is a function or a class that creates the module. It is called anew for each pass, after
``torch.manual_seed`` with the run's seed, which ``torch.initial_seed()`` returns. The module's initial
state must depend only on this seed, by the random numbers of torch, numpy or Python. build_model may take
one argument, its settings. Annotate it with a dataclass whose fields come from ``psbench.setting``. They
become settings of the part, ``--set model.width=64``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch

import psbench

from .criterion import TorchCriterion, targets_of
from .inputs import Batch
from .model import Recipe, TorchModel

__all__ = ["Batch", "TorchCriterion", "TorchModel", "parts", "serve"]


def serve(build_model: Callable[..., torch.nn.Module], **options: Any) -> None:
    """The main function of a plugin that serves a module, and its loss if there is one.

    It has the options of ``parts`` and does not return.
    """
    psbench.serve(*parts(build_model, **options))


def parts(
    build_model: Callable[..., torch.nn.Module],
    *,
    key: str | None = None,
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] | None = None,
    optimizer: Callable[..., Any] | None = None,
    inputs: Callable[[Batch], Any] | None = None,
    features: int | Sequence[int] | None = None,
    rows: int | None = None,
    classes: int | None = None,
    targets: str | None = None,
    length: int | None = None,
    stochastic: bool = False,
    smallest_batch: int = 1,
) -> list[type[psbench.Part]]:
    """The parts for a module: a model, and a criterion if a loss is given.

    key: the key for users, as in ``--model KEY`` and ``--create-criterion KEY``; by default the name of the
        script.
    loss: a loss of torch, such as ``nn.CrossEntropyLoss()``, or a function of output and targets. It must
        return the mean over the batch. Losses that compare numbers (mean squared error and its like, binary
        cross entropy) get the targets as float32 of the output's shape, all others as int64, one for each
        row; nn.CrossEntropyLoss may get probabilities, float32 of the output's shape. psbench's own
        criteria (cel, nll, bce, mse, l1) also work with the model.
    optimizer: an optimizer of torch: a function of the list of parameters, and of the settings if it takes
        two arguments, such as ``lambda params: torch.optim.Adam(params, lr=1e-3)``. It replaces psbench's
        optimizer and steps after the gradients are reduced. Its state is reset for each pass. Any object
        with a method ``step`` works.
    inputs: converts a batch to the module's arguments: a function of a Batch that returns a tensor, a tuple
        of arguments, or a dict of arguments by name. By default the samples' numbers, [samples, ...], come
        first, then their bags: as indices and offsets, as for nn.EmbeddingBag or, if the module takes only
        one argument for them, as a matrix [samples, length].
    features: number of a sample's numbers, or their shape, such as ``(1, 28, 28)``.
    rows: bound of the indices of bags.
    classes: bound of the targets, and number of columns of the output.
    targets: the loss's kind of targets, "classes", "numbers", "shares" or "probabilities" (see
        psbench.Criterion); required for a function that takes numbers, such as ``F.mse_loss``.
    length: number of indices of every bag, for a module that takes a matrix with that many columns.
    stochastic: whether the module draws random numbers in training, as for dropout.
    smallest_batch: number of samples of the smallest batch for training, such as 2 with nn.BatchNorm1d.

    Missing options are derived from the module. If it begins with a linear layer or an embedding, this
    layer gives the input size. The output of one sample gives classes: its number of columns, or two for a
    single column.
    """
    shape = features if features is None else _shape(features)
    recipe = Recipe(build_model, optimizer, inputs, shape, rows, classes, length)
    key = key or os.path.splitext(os.path.basename(sys.argv[0]))[0] or "torch"
    model = type("Model", (TorchModel,), {
        "key": key, "recipe": recipe, "Settings": recipe.settings(), "stochastic": stochastic, "smallest_batch": smallest_batch})
    if optimizer is not None:
        model.step = TorchModel._step  # only for a model that steps itself
    if loss is None:
        return [model]
    return [model, type("Criterion", (TorchCriterion,), {"key": key, "loss": staticmethod(loss), "targets": targets or targets_of(loss)})]


def _shape(features: int | Sequence[int]) -> tuple[int, ...]:
    return (features,) if isinstance(features, int) else tuple(features)
