"""The output of a model, in memory that the part requests, and its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import frames
from ..process import Process


class Output:
    """The memory of a model's outputs."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._all: Any = np.empty(0, np.float32)  # the whole memory
        self._shape = (0, 0)
        self._view: Any = None  # view with the last shape
        self._gradient: Any = None

    def memory(self, rows: int, columns: int) -> Any:
        """Memory of the host for an output; see psbench.Model.output."""
        if self._view is None or self._view.shape != (rows, columns):
            if rows * columns > self._all.size:
                self._grow(rows * columns)
            self._view = self._all[:rows * columns].reshape(rows, columns)
        return self._view

    def put(self, output: Any, rows: int) -> tuple[int, int]:
        """Stores an output, which must have so many rows, in the host's memory and returns its shape."""
        if not isinstance(output, np.ndarray) or output.dtype != np.float32 or output.ndim != 2 or len(output) != rows:
            raise TypeError(f"it returns {_words(output)}: it must return float32 [{rows}, columns], a row for each sample")
        shape: tuple[int, int] = output.shape  # type: ignore[assignment]
        memory = self.memory(*shape)
        if output is not memory:
            memory[...] = output
        if shape != self._shape:
            self._shape, self._gradient = shape, None
        return shape

    def gradient(self) -> Any:
        """The gradient of the last output."""
        if self._gradient is None:
            rows, columns = self._shape
            self._gradient = self._process.memory.tensor(frames.OUTPUT_GRADIENT)[:rows * columns].reshape(rows, columns)
        return self._gradient

    def moved(self, role: int) -> None:
        """Records that a tensor was announced, perhaps at another place."""
        if role == frames.OUTPUT_GRADIENT:
            self._gradient = None

    def _grow(self, elements: int) -> None:
        process = self._process
        segment = process.allocate(4 * elements)
        self._all = process.memory.view(segment, 0, elements, "float32")
        process.link.send(frames.TENSOR, flags=frames.OUTPUT, rows=segment, arg=0, arg2=elements)  # type: ignore[union-attr]


def _words(value: Any) -> str:
    return f"{value.dtype} {list(value.shape)}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
