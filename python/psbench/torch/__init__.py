"""Your own torch model: an ordinary nn.Module with autograd as a model of psbench.

::

    import psbench.torch
    from torch import nn

    def build_model():
        return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))

    if __name__ == "__main__":
        psbench.torch.serve(build_model, loss=nn.CrossEntropyLoss())

This script is a plugin. Its parameters lie in the memory that psbench's optimizers and reductions
work on, and each gradient is given to psbench as autograd finishes it, so that buckets travel while
the rest of the backward pass runs.

build_model is a function or a class: it makes the module, and it is called anew for each pass, under
``torch.manual_seed`` of the run's seed, which ``torch.initial_seed()`` gives: all that the module is
at first must follow from that, by the random numbers of torch, numpy or Python. Its argument, if it
takes one, is its settings: annotate it with a dataclass whose fields are made by
``psbench.setting``, and they are settings of the part, ``--set model.width=64``.
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

    The options are those of ``parts``. It does not return.
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
    """The parts that a module makes: a model, and a criterion if a loss is given.

    key: what users write, ``--model KEY``, ``--create-criterion KEY``; by default the name of the
        script.
    loss: of torch, such as ``nn.CrossEntropyLoss()``, or a function of output and targets. It gives
        the mean over the batch. Losses that compare numbers (mean squared error and its like, binary
        cross entropy) get the targets as float32 of the output's shape, all others as int64, one for
        each row; nn.CrossEntropyLoss may get probabilities, float32 of the output's shape. psbench's own criteria (cel, nll, bce, mse, l1) go with the model too.
    optimizer: of torch: a function of the list of parameters, and of the settings if it takes two
        arguments, such as ``lambda params: torch.optim.Adam(params, lr=1e-3)``. Then it steps in the
        place of psbench's, after the gradients are reduced; its state begins anew with each pass.
        Anything with a method ``step`` will do.
    inputs: how a batch becomes what the module is called with: a function of a Batch that returns a
        tensor, a tuple of arguments, or a dict of arguments by name. By default the samples' numbers,
        [samples, ...], come first, then their bags: as indices and offsets, as nn.EmbeddingBag
        takes them, or, of a module that takes no more arguments, as a matrix [samples, length].
    features: how many numbers a sample has, or their shape, such as ``(1, 28, 28)``.
    rows: what bounds the indices of bags.
    classes: what bounds the targets, and columns of the output.
    targets: what the loss takes as targets, "classes", "numbers", "shares" or "probabilities" (see
        psbench.Criterion); needed of a function that takes numbers, such as ``F.mse_loss``.
    length: how many indices every bag has, for a module that takes a matrix of that many columns.
    stochastic: whether the module draws random numbers as it trains, as dropout does.
    smallest_batch: samples of the smallest batch that the module can train on: 2 with nn.BatchNorm1d.

    What is not given is taken from the module: if it begins with a linear layer or an embedding, its
    size is known, and classes is how many columns the output of one sample has (two if it is one).
    """
    shape = features if features is None else _shape(features)
    recipe = Recipe(build_model, optimizer, inputs, shape, rows, classes, length)
    key = key or os.path.splitext(os.path.basename(sys.argv[0]))[0] or "torch"
    model = type("Model", (TorchModel,), {
        "key": key, "recipe": recipe, "Settings": recipe.settings(), "stochastic": stochastic, "smallest_batch": smallest_batch})
    if optimizer is not None:
        model.step = TorchModel._step  # only of a model that steps itself
    if loss is None:
        return [model]
    return [model, type("Criterion", (TorchCriterion,), {"key": key, "loss": staticmethod(loss), "targets": targets or targets_of(loss)})]


def _shape(features: int | Sequence[int]) -> tuple[int, ...]:
    return (features,) if isinstance(features, int) else tuple(features)
