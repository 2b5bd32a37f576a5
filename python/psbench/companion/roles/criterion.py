"""Criteria: a loss, and then its gradient."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from ...criterion import Criterion
from .. import frames
from ..process import Process
from .role import Role


class CriterionRole(Role):
    """Calls a criterion."""

    part: Criterion

    def __init__(self, process: Process, part: Any, request: Any) -> None:
        super().__init__(process, part, request)
        self._shape = (0, 0, 0, 0)  # rows and columns of the output, number of targets, and numbers per row
        self._classes: Any = None  # classes of a batch, if the part gets them as numbers
        self._views: tuple[Any, Any] | None = None
        self._gradient: Any = None
        process.moved = self._moved
        process.serve(frames.LOSS, self._forward, "forward")
        process.serve(frames.LOSS_GRADIENT, self._backward, "backward")

    def configure(self, reply: Any) -> None:
        self.make(max_batch=self._request.companion.model.max_batch)

    def _forward(self, flags: int, batch: int, bucket: int, targets: int, rows: int, columns: int) -> None:
        width = bucket
        if self._views is None or self._shape != (rows, columns, targets, width):
            output = self.memory.tensor(frames.OUTPUT)[:rows * columns].reshape(rows, columns)
            self._classes = None
            if width:
                wanted = self.memory.tensor(frames.FLOAT_TARGETS)[:targets].reshape(rows, width)
                if width != columns:
                    raise ValueError(f"the output has {columns} columns but a row of the batch has {width} targets: the model must have an output for each")
            else:
                wanted = self.memory.tensor(frames.TARGETS)[:targets]
                if self.part.targets in ("numbers", "shares"):
                    self._classes, wanted = wanted, np.empty((rows, columns), np.float32)
            output.flags.writeable = wanted.flags.writeable = False
            self._shape, self._views, self._gradient = (rows, columns, targets, width), (output, wanted), None
        if self._classes is not None:
            wanted = self._views[1]
            wanted.flags.writeable = True
            wanted[:] = self._classes[:, None]
            wanted.flags.writeable = False
        loss = self.part.forward(*self._views)
        try:
            bits = struct.pack("<d", loss)
        except (struct.error, TypeError):
            raise TypeError(f"it returns a {type(loss).__name__}: it must return the mean loss, a float") from None
        self.process.link.send(frames.LOSS, arg=struct.unpack("<q", bits)[0])  # type: ignore[union-attr]

    def _backward(self, flags: int, batch: int, bucket: int, rows: int, arg: int, arg2: int) -> None:
        if self._gradient is None:
            rows, columns = self._shape[:2]
            self._gradient = self.memory.tensor(frames.OUTPUT_GRADIENT)[:rows * columns].reshape(rows, columns)
        self.part.backward(self._gradient)
        self.process.link.send(frames.LOSS_GRADIENT)  # type: ignore[union-attr]

    def _moved(self, role: int, index: int) -> None:
        self._views = self._gradient = None
