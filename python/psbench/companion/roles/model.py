"""Models: bind first, then initialize, forward and backward at the host's calls."""

from __future__ import annotations

import math
from typing import Any

from ...gradients import Gradient
from ...model import Batch, Inputs, Model, Parameter
from .. import frames
from ..faults import Fault
from ..process import Process
from .output import Output
from .role import Role, bucket_specs


class ModelRole(Role):
    """Calls a model and checks its results against its declarations."""

    part: Model

    def __init__(self, process: Process, part: Any, request: Any) -> None:
        super().__init__(process, part, request)
        self._parameters: list[Parameter] = []
        self._inputs = Inputs()
        self._gradients: list[Gradient] = []
        self._output = Output(process)
        self._emitted = bytearray()
        self._mates: dict[int, list[int]] = {}  # by parameter: all parameters in its bucket
        self._batch: tuple[Any, Batch] = ((), Batch(0, None, None, None, None))
        process.moved = self._moved
        for op, handler in (
            (frames.BIND, self._bind), (frames.INITIALIZE, self._initialize), (frames.FORWARD, self._forward),
            (frames.EVALUATE, self._evaluate), (frames.BACKWARD, self._backward), (frames.BACKWARD_INPUT, self._backward_input),
            (frames.GRADIENT, self._reduced), (frames.STEP, self._step),
        ):
            process.serve(op, handler, handler.__name__[1:])

    def configure(self, reply: Any) -> None:
        env = self._request.companion
        model = self.make(max_batch=env.model.max_batch, threads=env.model.threads, first_tensor=env.model.first_tensor, seed=env.seed)
        self._parameters = self.call("parameters", lambda: _checked(model.parameters()))
        self._inputs = self.call("inputs", model.inputs)
        if not isinstance(self._inputs, Inputs):
            raise Fault(f"{self.title}, inputs: it gives a {type(self._inputs).__name__} instead of psbench.Inputs(...)")
        said = reply.model
        for p in self._parameters:
            said.parameters.add(name=p.name, shape=list(p.shape), sparse=p.sparse)
        i = self._inputs
        said.inputs.rows, said.inputs.classes, said.inputs.features = i.rows, i.classes, i.features
        said.inputs.targets, said.inputs.looked_up, said.inputs.outputs = i.targets, i.looked_up, i.outputs
        said.inputs.tables.extend(i.tables)
        said.inputs.bag_length = i.bag_length
        said.feature_gradient = type(model).backward_input is not Model.backward_input
        said.steps = type(model).step is not Model.step
        said.evaluates = type(model).evaluate is not Model.evaluate

    def connect(self, links: Any) -> None:
        for bucket in bucket_specs(links.buckets):
            mates = [span.parameter for span in bucket.parameters]
            self._mates.update((k, mates) for k in mates)

    def output_of(self, rows: int, columns: int) -> Any:
        """See psbench.Model.output."""
        return self._output.memory(rows, columns)

    def _bind(self, flags: int, batch: int, bucket: int, rows: int, arg: int, arg2: int) -> None:
        values = []
        for k, p in enumerate(self._parameters):
            elements = math.prod(p.shape)
            values.append(self.memory.tensor(frames.VALUES, k)[:elements].reshape(p.shape))
            gradient = self.memory.tensor(frames.PARAMETER_GRADIENT, k)
            if p.sparse:
                numbers = self.memory.tensor(frames.GRADIENT_ROWS, k)
                self._gradients.append(Gradient(gradient[:len(numbers) * p.shape[1]].reshape(len(numbers), p.shape[1]), numbers))
            else:
                self._gradients.append(Gradient(gradient[:elements].reshape(p.shape)))
        self.part.bind(tuple(values), tuple(self._gradients))  # tuples, so that no element can be replaced
        self.process.link.send(frames.BIND)  # type: ignore[union-attr]

    def _initialize(self, flags: int, batch: int, bucket: int, rows: int, arg: int, arg2: int) -> None:
        self.part.initialize(arg & (1 << 64) - 1)
        self.process.link.send(frames.INITIALIZE)  # type: ignore[union-attr]

    def _forward(self, flags: int, batch: int, bucket: int, rows: int, arg: int, arg2: int) -> None:
        b = self._samples(batch, rows, arg, arg2, bucket)
        self._answer(frames.FORWARD, b, self.part.forward(b))

    def _evaluate(self, flags: int, batch: int, bucket: int, rows: int, arg: int, arg2: int) -> None:
        b = self._samples(batch, rows, arg, arg2, bucket)
        self._answer(frames.EVALUATE, b, self.part.evaluate(b))

    def _answer(self, op: int, batch: Batch, output: Any) -> None:
        rows, columns = self._output.put(output, batch.size)
        self.process.link.send(op, arg=rows, arg2=columns)  # type: ignore[union-attr]

    def _backward(self, flags: int, batch: int, bucket: int, rows: int, arg: int, arg2: int) -> None:
        self._emitted = bytearray(len(self._parameters))
        self.part.backward(self._output.gradient(), self._emit)
        self._end(frames.BACKWARD)

    def _backward_input(self, flags: int, batch: int, bucket: int, rows: int, arg: int, arg2: int) -> None:
        self._emitted = bytearray(len(self._parameters))
        features = self._batch[1].features
        wanted = self.memory.tensor(frames.FEATURE_GRADIENT)[:features.size].reshape(features.shape)
        self.part.backward_input(self._output.gradient(), wanted, self._emit)
        self._end(frames.BACKWARD_INPUT)

    def _emit(self, parameter: int) -> None:
        """The function emit that the model gets."""
        emitted = self._emitted
        if not 0 <= parameter < len(emitted):
            raise ValueError(f"it emits the gradient of parameter {parameter}, but there are {len(emitted)} parameters, which count from 0")
        if emitted[parameter]:
            raise ValueError(f"it emits the gradient of parameter {self._parameters[parameter].name} twice in a backward pass: each must be emitted once, when it is complete")
        emitted[parameter] = 1
        link = self.process.link
        assert link is not None
        # A bucket is reduced only once it is complete, so the host need not wake up before.
        whole = all(emitted[k] for k in self._mates.get(parameter, ()))
        (link.send if whole else link.hold)(frames.GRADIENT, bucket=parameter, rows=self._gradients[parameter]._count())

    def _end(self, op: int) -> None:
        missing = self._emitted.find(0)
        if missing >= 0:
            raise ValueError(f"it ended without emitting the gradient of parameter {self._parameters[missing].name}: each must be emitted once")
        self.process.link.send(op)  # type: ignore[union-attr]

    def _reduced(self, flags: int, batch: int, bucket: int, rows: int, arg: int, arg2: int) -> None:
        """Sets the number of rows of a reduced gradient, before a step."""
        self._gradients[bucket].set_rows(rows)

    def _step(self, flags: int, batch: int, bucket: int, rows: int, arg: int, arg2: int) -> None:
        self.part.step()
        self.process.link.send(frames.STEP)  # type: ignore[union-attr]

    def _samples(self, indices: int, offsets: int, features: int, targets: int, width: int) -> Batch:
        """The batch with so many numbers of each kind. It is reused if the counts are the same. Targets are
        classes if width is 0."""
        counts = (indices, offsets, features, targets, width)
        if self._batch[0] == counts:
            return self._batch[1]
        each = width or max(self._inputs.targets, 1)
        size = offsets - 1 if offsets else targets // each
        parts = []
        for role, count in ((frames.FEATURES, features), (frames.FLOAT_TARGETS if width else frames.TARGETS, targets), (frames.INDICES, indices), (frames.OFFSETS, offsets)):
            part = self.memory.tensor(role)[:count] if count else _NONE[role]
            part.flags.writeable = False
            parts.append(part)
        shaped = parts[0].reshape(size, features // size) if size else parts[0]
        self._batch = counts, Batch(size, shaped, parts[1].reshape(size, each) if each > 1 or width else parts[1], parts[2], parts[3])
        return self._batch[1]

    def _moved(self, role: int, index: int) -> None:
        self._batch = (), self._batch[1]
        self._output.moved(role)
        if role in (frames.VALUES, frames.PARAMETER_GRADIENT, frames.GRADIENT_ROWS) and self._gradients:
            raise Fault(f"tensor {index} of role {role} was announced again after bind")


def _none() -> dict[int, Any]:
    import numpy

    return {role: numpy.empty(0, frames.ELEMENTS.get(role, "float32")) for role in (frames.FEATURES, frames.TARGETS, frames.FLOAT_TARGETS, frames.INDICES, frames.OFFSETS)}


_NONE = _none()


def _checked(parameters: Any) -> list[Parameter]:
    """The parameters of a model. Raises an error if they are invalid."""
    out = list(parameters)
    for p in out:
        if not isinstance(p, Parameter):
            raise TypeError(f"it gives a {type(p).__name__} where psbench.Parameter(name, shape) must be")
        if any(int(n) != n or n < 1 for n in p.shape) or p.sparse and len(p.shape) != 2:
            raise ValueError(f"parameter {p.name} has shape {list(p.shape)}: a shape is whole numbers of 1 or more, and that of a sparse parameter is (rows, width)")
    return out
