"""Data: its samples, put into memory of the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...data import Data, Limits, Samples
from .. import frames
from ..faults import encode
from ..process import Process
from .role import Role

_ARRAYS = (
    (frames.LOADED_INDICES, "indices"), (frames.LOADED_OFFSETS, "offsets"), (frames.LOADED_FEATURES, "features"),
    (frames.LOADED_TARGETS, "targets"), (frames.LOADED_BATCHES, "batches"),
)


class DataRole(Role):
    """Calls data's load."""

    part: Data

    def __init__(self, process: Process, part: Any, request: Any) -> None:
        super().__init__(process, part, request)
        self._origins: list[Any] = [None, None]
        process.serve(frames.LOAD, self._load, "load")
        process.serve(frames.ORIGIN, self._origin, "origin")

    def configure(self, reply: Any) -> None:
        role = self._request.companion
        self.make(trainers=role.trainers, seed=role.seed, batch_size=role.batch_size, criterion=role.wanted.criterion,
                  wanted=role.wanted.targets or "classes")

    def _load(self, flags: int, batch: int, bucket: int, rows: int, arg: int, arg2: int) -> None:
        numbers = [int(n) for n in self.memory.tensor(frames.LIMITS)]
        samples = self.part.load(Limits(*numbers[:5], tables=tuple(numbers[5:])))
        if not isinstance(samples, Samples):
            raise TypeError(f"it returns a {type(samples).__name__}: it must return psbench.Samples(...)")
        both = [s for s in (samples, samples.held_out) if s is not None]
        arrays = [_arrays(s, "held-out " * index) for index, s in enumerate(both)]
        width = _unite([a["targets"] for a in arrays], arrays)
        roles = {name: role for role, name in _ARRAYS} | ({"targets": frames.LOADED_FLOAT_TARGETS} if width else {})
        places = [(roles[name], index, values) for index, a in enumerate(arrays) for name, values in a.items()]
        self._origins = [s.origin for s in both]
        self._put(places)
        self.process.link.send(frames.LOAD, arg=len(both) - 1, arg2=width)  # type: ignore[union-attr]

    def _put(self, arrays: list[tuple[int, int, Any]]) -> None:
        """Copies arrays into one segment, and announces them."""
        offsets, size = [], 0
        for _, _, values in arrays:
            offsets.append(size)
            size += -(-values.nbytes // 64) * 64
        segment = self.process.allocate(max(size, 64))
        for (role, index, values), offset in zip(arrays, offsets):
            self.memory.view(segment, offset, values.size, str(values.dtype))[:] = values.reshape(-1)
            self.process.link.send(frames.TENSOR, role, 0, index, segment, offset, values.size)  # type: ignore[union-attr]

    def _origin(self, flags: int, batch: int, which: int, rows: int, sample: int, position: int) -> None:
        origin = self._origins[which] if which < len(self._origins) else None
        text = str(origin(sample, position)) if origin else ""
        self.process.link.send(frames.ORIGIN, 0, batch, which, rows, sample, position, encode(text)[:4096])  # type: ignore[union-attr]


def _unite(targets: list[Any], arrays: list[dict[str, Any]]) -> int:
    """How many numbers a sample's target has, 0 if all targets are classes. If some samples have classes
    and some numbers, all become numbers."""
    if all(t.dtype == np.int64 for t in targets):
        return 0
    widths = {t.size // len(t) for t in targets if len(t)}
    if len(widths) > 1:
        raise ValueError(f"its samples and held-out samples have {' and '.join(str(t.size // len(t)) for t in targets)} targets each: all must have as many")
    for a, t in zip(arrays, targets):
        a["targets"] = t.astype(np.float32, copy=False)
    return widths.pop() if widths else 1


def _arrays(samples: Samples, which: str) -> dict[str, Any]:
    """The arrays of samples by name. Raises an error that names an invalid array."""
    out: dict[str, Any] = {}
    if not isinstance(samples, Samples):
        raise TypeError(f"its {which}samples are a {type(samples).__name__}: they must be psbench.Samples(...)")
    for _, name in _ARRAYS:
        values = getattr(samples, name)
        if values is None:
            continue
        if name == "batches":
            values = np.asarray(values, None if len(values) else np.int64)
        if not isinstance(values, np.ndarray):
            raise TypeError(f"its {which}{name} are a {type(values).__name__}: they must be a numpy array")
        given = f"its {which}{name} are {values.dtype} {list(values.shape)}"
        if name == "features":
            if values.dtype != np.float32 or values.ndim != 2:
                raise TypeError(f"{given}: they must be float32 [samples, features]; astype(np.float32) converts others")
        elif name == "targets" and values.dtype.kind not in "iufb":
            raise TypeError(f"{given}: they must be numbers, such as int64 or float32")
        elif name != "targets" and values.dtype.kind not in "iu":
            raise TypeError(f"{given}: they must be whole numbers, such as int64")
        elif values.ndim != 1 and not (name == "targets" and values.ndim == 2):
            raise ValueError(f"{given}: they must be {'[samples] or [samples, targets]' if name == 'targets' else 'of one dimension'}")
        floats = name == "features" or name == "targets" and values.dtype.kind == "f"
        with np.errstate(over="ignore"):  # psbench refuses values that are not finite and names them
            out[name] = np.ascontiguousarray(values, np.float32 if floats else np.int64)
    if "targets" not in out:
        raise ValueError(f"its {which}samples have no targets")
    counts = {name: len(out[name]) - (name == "offsets") for name in ("features", "targets", "offsets") if name in out}
    if len(set(counts.values())) > 1:
        raise ValueError(f"its {which}samples are {', '.join(f'{n} by {name}' for name, n in counts.items())}: all must be as many")
    if ("indices" in out) != ("offsets" in out):
        raise ValueError(f"its {which}samples have indices or offsets alone: a bag needs both")
    return out
