"""The trained parameters of a module, and the transfer of their gradients to psbench."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

if TYPE_CHECKING:
    import numpy as np
    from psbench import Gradient


@dataclasses.dataclass(frozen=True)
class Trained:
    """A parameter of a module. sparse: its gradient is rows of a table."""

    name: str
    tensor: nn.Parameter
    sparse: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape in psbench, where a single number is a vector of length 1."""
        return tuple(self.tensor.shape) or (1,)


def trained(module: nn.Module) -> list[Trained]:
    """The parameters to train, in the module's order of registration.

    A parameter shared by several layers occurs once. Frozen parameters are left out.
    """
    tables = {id(layer.weight) for layer in module.modules()
              if isinstance(layer, (nn.Embedding, nn.EmbeddingBag)) and layer.sparse}
    found = [Trained(name, p, id(p) in tables) for name, p in module.named_parameters() if p.requires_grad]
    title = type(module).__name__
    if not found:
        raise ValueError(f"{title} has no parameter that requires a gradient: there is nothing to train")
    for p in found:
        if isinstance(p.tensor, nn.parameter.UninitializedParameter):
            raise ValueError(f"parameter {p.name} of {title} has no shape before its first batch: name the sizes of lazy layers")
        if p.tensor.dtype != torch.float32 or p.tensor.device.type != "cpu":
            raise ValueError(f"parameter {p.name} of {title} is {p.tensor.dtype} on {p.tensor.device} but must be torch.float32 on the cpu")
        if p.tensor.numel() == 0:
            raise ValueError(f"parameter {p.name} of {title} has shape {list(p.tensor.shape)}: it has no elements to train")
    return found


def view(array: np.ndarray, like: torch.Tensor) -> torch.Tensor:
    """psbench's memory of a parameter as a tensor of the parameter's shape."""
    return torch.from_numpy(array).view(like.shape)


class Gradients:
    """Gradients of a module's parameters, copied into psbench's memory as autograd finishes them.

    Where possible, autograd leaves a finished gradient in ``.grad`` without a copy. It then calls the hooks
    of the parameter's accumulator. Such a hook copies the gradient and releases it, so that its memory is
    reused for the next one. The gradient is the sum over all uses of a parameter.
    """

    def __init__(self, parameters: Sequence[Trained], memory: Sequence[Gradient]) -> None:
        self._parameters, self._memory = parameters, memory
        self._views = [None if p.sparse else view(g.values, p.tensor) for p, g in zip(parameters, memory)]
        self._waiting: set[int] = set()
        self._placed: set[int] = set()  # parameters whose memory already has a gradient in this backward pass
        self._emit: Callable[[int], Any] | None = None
        # An accumulator lives only while something refers to it; without this list, its hooks would be lost.
        self._accumulators = [_accumulator(p.tensor) for p in parameters]
        self._hooks = [accumulator.register_hook(self._finisher(k)) for k, accumulator in enumerate(self._accumulators)]

    def backward(self, output: torch.Tensor, gradient: torch.Tensor, emit: Callable[[int], Any]) -> None:
        """Runs the backward pass from an output and passes each parameter's gradient to emit once.

        Parameters that the output does not depend on get zeros, or no rows, at the end.
        """
        self._emit = emit
        self._placed.clear()
        self._waiting.update(range(len(self._parameters)))
        output.backward(gradient)
        for k in sorted(self._waiting, reverse=True):
            memory, dense = self._memory[k], self._views[k]
            if dense is None:
                memory.set_rows(0)
            else:
                dense.zero_()
            emit(k)
        self._waiting.clear()

    def _finisher(self, k: int) -> Callable[..., None]:
        """A function for the end of parameter k's gradient, called once per backward pass."""
        tensor, dense, waiting = self._parameters[k].tensor, self._views[k], self._waiting
        place = 0 if dense is None else dense.data_ptr()

        def finished(*_: Any) -> None:
            gradient, tensor.grad = tensor.grad, None
            if gradient is None:
                return
            if k not in waiting:
                raise RuntimeError(
                    f"the gradient of parameter {self._parameters[k].name} came twice in one backward pass: "
                    "checkpoints need use_reentrant=False")
            if dense is None:
                self._copy_rows(k, gradient)
            elif gradient.is_sparse:
                dense.copy_(gradient.to_dense())
            elif gradient.data_ptr() != place:
                dense.copy_(gradient)
            waiting.remove(k)
            self._emit(k)  # type: ignore[misc]  # backward has set it

        return finished

    def product(self, k: int) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
        """Computes the matrix product that is the gradient of parameter k, or a part of it. The product
        goes directly into the gradient's memory if that memory is still free in this backward pass and the
        product itself needs no gradient."""
        dense = self._views[k]
        assert dense is not None

        def multiply(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            if k in self._placed or k not in self._waiting or torch.is_grad_enabled():
                return torch.mm(a, b)
            self._placed.add(k)
            # A second tensor of the same memory, which autograd can keep without a copy.
            return torch.mm(a, b, out=dense.view(dense.shape))

        return multiply

    def _copy_rows(self, k: int, gradient: torch.Tensor) -> None:
        if not gradient.is_sparse:
            raise RuntimeError(
                f"the gradient of parameter {self._parameters[k].name} is dense although its embedding has sparse=True: "
                "something else uses the parameter, so leave sparse=True away")
        gradient = gradient.coalesce()  # makes rows ascending and distinct
        memory, rows = self._memory[k], gradient.indices()[0]
        memory.set_rows(len(rows))
        torch.from_numpy(memory.rows).copy_(rows)
        torch.from_numpy(memory.values).copy_(gradient.values())

    def close(self) -> None:
        """Removes the hooks. A hook and its accumulator refer to each other, which Python's garbage
        collector cannot see."""
        for hook in self._hooks:
            hook.remove()

    def lend(self) -> None:
        """Makes psbench's memory the ``.grad`` of each parameter, for a step of a torch optimizer."""
        for p, memory, dense in zip(self._parameters, self._memory, self._views):
            p.tensor.grad = dense if dense is not None else _rows(p.tensor, memory)

    def take_back(self) -> None:
        """Undoes lend, so that a gradient is not added to the next one."""
        for p in self._parameters:
            p.tensor.grad = None


def _accumulator(tensor: torch.Tensor) -> Any:
    """The autograd node that receives the sum of a parameter's gradients."""
    with torch.enable_grad():
        return tensor.expand_as(tensor).grad_fn.next_functions[0][0]  # type: ignore[union-attr]


def _rows(table: torch.Tensor, memory: Gradient) -> torch.Tensor:
    """Rows in psbench's memory as a sparse tensor."""
    indices = torch.from_numpy(memory.rows).to(torch.int64).unsqueeze(0)
    sparse = torch.sparse_coo_tensor(indices, torch.from_numpy(memory.values), table.shape)
    return sparse._coalesced_(True)  # rows are ascending and distinct
