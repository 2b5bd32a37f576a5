"""The arguments of a module: the tensors of a batch, and their properties before the first batch."""

from __future__ import annotations

import dataclasses
import inspect
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

import psbench


@dataclasses.dataclass
class Batch:
    """Samples as tensors.

    features: float32, [samples, ...], where the further dimensions are a sample's shape; None if samples
    have no numbers.
    indices: int64, the bags of all samples, one after the other; None if samples have no bags.
    offsets: int64, the start of each bag, and the end of the last one: one more than the number of samples.
    """

    size: int
    features: torch.Tensor | None = None
    indices: torch.Tensor | None = None
    offsets: torch.Tensor | None = None

    def matrix(self) -> torch.Tensor:
        """The bags as rows of a matrix [samples, length]. All bags must have the same length."""
        assert self.indices is not None and self.offsets is not None, "the samples have no bags"
        length = len(self.indices) // self.size
        lengths = torch.diff(self.offsets)
        if not bool((lengths == length).all()):
            raise ValueError(
                f"the bags of a batch have from {int(lengths.min())} to {int(lengths.max())} indices but must be equally long "
                "for a module that takes them as a matrix: let it take indices and offsets, or give inputs=")
        return self.indices.view(self.size, length)


def tensor_of(array: np.ndarray) -> torch.Tensor:
    """The array as a tensor in the same memory. If the array is read-only, the tensor is a copy, because a
    module may work in place."""
    if array.flags.writeable:
        return torch.from_numpy(array)
    return torch.from_numpy(array.copy())


@dataclasses.dataclass(frozen=True)
class Samples:
    """The form of a module's samples.

    shape: shape of a sample's numbers; None if it has none.
    rows: bound of its indices; 0 if it has none.
    length: number of indices of its bag; 0: any number.
    """

    shape: tuple[int, ...] | None
    rows: int
    length: int = 0

    @property
    def features(self) -> int:
        return 0 if self.shape is None else math.prod(self.shape)

    def batch(self, source: psbench.Batch) -> Batch:
        """The tensors of a batch of psbench."""
        features = indices = offsets = None
        if self.rows:
            indices, offsets = tensor_of(source.indices), tensor_of(source.offsets)
        if self.shape is not None:
            features = tensor_of(source.features).view(source.size, *self.shape)
        return Batch(source.size, features, indices, offsets)

    def one(self) -> Batch:
        """A batch of one sample. Its numbers are zeros, and its bag repeats index 0 as often as
        required."""
        features = None if self.shape is None else torch.zeros(1, *self.shape)
        length = max(1, self.length)
        indices, offsets = (torch.zeros(length, dtype=torch.int64), torch.tensor([0, length])) if self.rows else (None, None)
        return Batch(1, features, indices, offsets)


def samples_of(module: nn.Module, shape: tuple[int, ...] | None, rows: int | None, length: int | None) -> Samples:
    """The form of a module's samples, from the author's options or from the module's first layer."""
    if shape is not None or rows is not None:
        return Samples(shape, rows or 0, length or 0)
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            return Samples((layer.in_features,), 0)
        if isinstance(layer, (nn.Embedding, nn.EmbeddingBag)):
            return Samples(None, layer.num_embeddings, length or 0)
        if next(layer.children(), None) is None and next(layer.parameters(recurse=False), None) is not None:
            break  # a convolution, for example, does not determine the size of its images
    raise ValueError(
        f"{type(module).__name__} does not tell what its samples are: give features=, the count of their numbers or their shape "
        "such as (1, 28, 28), or rows=, the bound of the indices of bags")


def caller(module: nn.Module, samples: Samples, inputs: Callable[[Batch], Any] | None) -> Callable[[Batch], torch.Tensor]:
    """A function that calls a module with a batch."""
    if inputs is not None:
        return lambda batch: _called(module, inputs(batch))
    if not samples.rows:
        return lambda batch: module(batch.features)
    with_features = samples.shape is not None
    if takes_matrix(module, samples):
        if with_features:
            return lambda batch: module(batch.features, batch.matrix())
        return lambda batch: module(batch.matrix())
    if with_features:
        return lambda batch: module(batch.features, batch.indices, batch.offsets[:-1])
    return lambda batch: module(batch.indices, batch.offsets[:-1])


def takes_matrix(module: nn.Module, samples: Samples) -> bool:
    """Whether a module without inputs= gets bags as a matrix, and not as indices and offsets."""
    return samples.rows > 0 and _takes(module) < (2 if samples.shape is None else 3)


def _called(module: nn.Module, arguments: Any) -> Any:
    if isinstance(arguments, tuple):
        return module(*arguments)
    return module(**arguments) if isinstance(arguments, dict) else module(arguments)


def _takes(module: nn.Module) -> float:
    """The number of positional arguments of a module."""
    count = 0
    for parameter in inspect.signature(module.forward).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            return math.inf
        count += parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    return count
