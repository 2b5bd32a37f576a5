"""A torch module as a model."""

from __future__ import annotations

import dataclasses
import inspect
import random
import typing
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

import psbench

from .inputs import Batch, Samples, caller, samples_of, takes_matrix
from .linear import place_weights
from .parameters import Gradients, trained, view


@dataclasses.dataclass(frozen=True)
class Recipe:
    """The author's options for a module; see psbench.torch.parts."""

    build_model: Callable[..., nn.Module]
    optimizer: Callable[..., Any] | None = None
    inputs: Callable[[Batch], Any] | None = None
    shape: tuple[int, ...] | None = None
    rows: int | None = None
    classes: int | None = None
    length: int | None = None

    def settings(self) -> type | None:
        """The dataclass of build_model's argument, None if it takes no argument."""
        parameters = _places(self.build_model)
        if not parameters:
            return None
        made = self.build_model.__init__ if inspect.isclass(self.build_model) else self.build_model
        hint = typing.get_type_hints(made).get(parameters[0].name)
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            return hint
        if parameters[0].default is not inspect.Parameter.empty:
            return None
        name = getattr(self.build_model, "__name__", "build_model")
        raise psbench.DeclarationError(
            f"{name} takes {parameters[0].name}, which is not annotated with a dataclass: those are the settings of the part")

    def module(self, settings: Any, seed: int) -> nn.Module:
        """The initial module, a pure function of the seed."""
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed % 2**32)
        module = self.build_model() if settings is None else self.build_model(settings)
        if not isinstance(module, nn.Module):
            raise TypeError(f"build_model returned {type(module).__name__} but must return a torch.nn.Module")
        return module

    def made_optimizer(self, tensors: list[nn.Parameter], settings: Any) -> Any:
        """Torch's optimizer of these parameters, None if psbench's optimizer steps."""
        if self.optimizer is None:
            return None
        return self.optimizer(tensors, settings) if len(_places(self.optimizer)) > 1 else self.optimizer(tensors)


class TorchModel(psbench.Model):
    """A module with autograd as a model. psbench.torch.parts derives a class for each module."""

    recipe: ClassVar[Recipe]

    def setup(self) -> None:
        torch.set_num_threads(max(1, self.env.threads))
        module = self.recipe.module(self.settings, self.env.seed)
        self._title = type(module).__name__
        self._specs = [psbench.Parameter(p.name, p.shape, p.sparse) for p in trained(module)]
        self._samples = samples_of(module, self.recipe.shape, self.recipe.rows, self.recipe.length)
        self._length = self._samples.length
        if not self._length and self.recipe.inputs is None and takes_matrix(module, self._samples):
            self._length = -1
        self._columns = self._columns_of(module)
        self._module: nn.Module | None = None
        self._output: torch.Tensor | None = None
        self._gradients: Gradients | None = None

    def _columns_of(self, module: nn.Module) -> int | None:
        """The number of columns of the output for one sample; None if only the first batch can show it."""
        call = caller(module, self._samples, self.recipe.inputs)
        module.eval()  # in training mode, normalizing a single sample is an error
        try:
            with torch.no_grad():
                output = call(self._samples.one())
        except Exception as e:
            if self.recipe.classes is not None:
                return None  # bags may have to be longer
            raise ValueError(f"{self._title} cannot take {self._one()}, and classes= is not given: {e}") from e
        return output.numel() if isinstance(output, torch.Tensor) else None

    def _one(self) -> str:
        samples = self._samples
        words = [] if samples.shape is None else [f"numbers of shape {list(samples.shape)}"]
        return "a sample with " + " and ".join(words + (["a bag of index 0"] if samples.rows else []))

    def parameters(self) -> Sequence[psbench.Parameter]:
        return self._specs

    def inputs(self) -> psbench.Inputs:
        return psbench.Inputs(rows=self._samples.rows, features=self._samples.features,
                              classes=self.recipe.classes or max(2, self._columns or 0), outputs=self._columns or 0, bag_length=self._length)

    def facts(self) -> dict[str, str]:
        return {"torch": torch.__version__, "torch_threads": str(torch.get_num_threads())}

    def bind(self, values: Sequence[np.ndarray], gradients: Sequence[psbench.Gradient]) -> None:
        self._values, self._memory = values, gradients

    def initialize(self, seed: int) -> None:
        """Builds a new module and puts its parameters into psbench's memory. This discards a pass's state
        in buffers, attributes and the optimizer."""
        if self._gradients is not None:
            self._gradients.close()
        self._module = self._output = self._optimizer = self._gradients = None
        module = self.recipe.module(self.settings, seed)
        parameters = trained(module)
        found = [psbench.Parameter(p.name, p.shape, p.sparse) for p in parameters]
        if found != self._specs:
            raise ValueError(f"{self._title} has other parameters with seed {seed} than with seed {self.env.seed}")
        with torch.no_grad():
            for p, value in zip(parameters, self._values):
                memory = view(value, p.tensor)
                memory.copy_(p.tensor)
                p.tensor.data = memory
        tensors = [p.tensor for p in parameters]
        self._gradients = Gradients(parameters, self._memory)
        place_weights(module, tensors, self._gradients.product)
        self._optimizer = self.recipe.made_optimizer(tensors, self.settings)
        self._call = caller(module, self._samples, self.recipe.inputs)
        self._module = module.train()
        # The module's later random numbers, for example for dropout, differ between trainers.
        torch.manual_seed((seed * 1000003 + self.env.rank + 1) % 2**63)

    def forward(self, batch: psbench.Batch) -> np.ndarray:
        samples = self._samples.batch(batch)
        output = self._checked(self._call(samples), samples.size)
        if not output.requires_grad:
            raise ValueError(f"the output of {self._title} depends on none of its parameters")
        self._output = output
        return output.detach().numpy()

    def evaluate(self, batch: psbench.Batch) -> np.ndarray:
        samples = self._samples.batch(batch)
        self._module.eval()  # type: ignore[union-attr]
        try:
            with torch.no_grad():
                return self._checked(self._call(samples), samples.size).numpy()
        finally:
            self._module.train()  # type: ignore[union-attr]

    def _checked(self, output: Any, size: int) -> torch.Tensor:
        """The output as rows, one per sample."""
        if not isinstance(output, torch.Tensor):
            raise TypeError(f"{self._title} returned {type(output).__name__} but must return a tensor [samples, columns]")
        if output.dim() == 1:
            output = output.unsqueeze(1)
        if self._columns is None and output.dim() == 2:
            self._columns = output.shape[1]
        if output.shape != (size, self._columns) or output.dtype != torch.float32:
            raise ValueError(
                f"{self._title} returned {output.dtype} of shape {list(output.shape)} for a batch of {size} but must return "
                f"torch.float32 of shape {[size, self._columns]}")
        return output

    def backward(self, output_gradient: np.ndarray, emit: Callable[[int], None]) -> None:
        output, self._output = self._output, None
        if output is None:
            raise RuntimeError(f"{self._title} cannot go backward before it went forward")
        self._gradients.backward(output, torch.from_numpy(output_gradient), emit)

    def _step(self) -> None:
        """Steps the parameters by the reduced gradients."""
        self._gradients.lend()
        self._optimizer.step()
        self._gradients.take_back()


def _places(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The positional arguments of a function or class."""
    return [p for p in inspect.signature(function).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
