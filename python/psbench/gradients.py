"""Gradients and their buckets."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Gradient:
    """A gradient in psbench's memory: dense, or some rows of a table.

    values: float32. All elements of a dense gradient; [rows, width] of a sparse one. Assigning to it copies
        into that memory as float32. It is valid until the gradient is given back; later it is overwritten,
        so copy values that you keep longer.
    rows: int32, the strictly ascending row numbers of a sparse gradient; None for a dense one.
    """

    __slots__ = ("capacity", "_values", "_rows", "_all_values", "_all_rows")

    capacity: int
    """The most rows that a sparse gradient has room for; 0 of a dense one."""

    def __init__(self, values: Any, rows: Any = None) -> None:
        self._values = self._all_values = values
        self._rows = self._all_rows = rows
        self.capacity = 0 if rows is None else len(rows)

    @property
    def values(self) -> NDArray[np.float32]:
        return self._values  # type: ignore[no-any-return]

    @values.setter
    def values(self, values: Any) -> None:
        if values is not self._values:
            self._values[...] = values

    @property
    def rows(self) -> NDArray[np.int32] | None:
        return self._rows

    @rows.setter
    def rows(self, rows: Any) -> None:
        if self._rows is None:
            raise ValueError("a dense gradient has no rows")
        if rows is not self._rows:
            self._rows[...] = rows

    @property
    def sparse(self) -> bool:
        """Whether the gradient consists of rows of a table."""
        return self._rows is not None

    def set_rows(self, count: int) -> None:
        """Sets the number of rows of a sparse gradient. Then write ``rows`` and ``values``.

        The first rows keep their values. More than ``capacity`` rows is a ValueError.
        """
        if self._all_rows is None:
            raise ValueError("a dense gradient has no rows to set")
        if not 0 <= count <= self.capacity:
            raise ValueError(f"a sparse gradient of {count} rows does not fit a capacity of {self.capacity} rows")
        if count != len(self._rows):
            self._rows, self._values = self._all_rows[:count], self._all_values[:count]

    def _take(self, title: str, values: Any, rows: Any, wanted: str) -> None:
        """Copies the values of an answer, and its rows if it is sparse. title describes the answer, for
        errors."""
        shape = getattr(values, "shape", None)
        if shape is None or not floating(values):
            raise TypeError(f"{title} is answered with a {type(values).__name__}{'' if shape is None else f' of {values.dtype}'}: it must be {wanted}")
        if self.sparse != (rows is not None):
            raise ValueError(f"{title} is {'sparse: its answer needs rows' if self.sparse else 'dense: its answer has no rows'}")
        if rows is not None:
            self.set_rows(len(rows))
            self.rows[:] = rows  # type: ignore[index]
        if shape != self.values.shape:
            raise ValueError(f"{title} is answered with {list(shape)}: it must be {list(self.values.shape)}")
        self.values[...] = values

    def _count(self) -> int:
        """Its number of rows, in the form for frames."""
        return 0 if self._rows is None else len(self._rows)


def floating(values: Any) -> bool:
    """Whether values have a type that is converted to float32: float16, float32 or float64."""
    return bool(getattr(getattr(values, "dtype", None), "kind", "") == "f")


@dataclasses.dataclass(frozen=True)
class Span:
    """The place of a parameter's gradient in a dense bucket, in elements."""

    parameter: int
    offset: int
    elements: int


@dataclasses.dataclass(frozen=True)
class BucketSpec:
    """The description of a bucket: a sequence of gradients that are reduced together.

    index: number of the bucket in the order in which the backward pass completes buckets, from 0.
    elements: number of elements of a dense bucket; table_rows x width for a sparse one.
    sparse: the bucket is one embedding table, whose gradient is sent as rows.
    table_rows, width, capacity: for a sparse bucket: rows and columns of its table, and the most rows of
        its reduced gradient in this run. 0 for a dense one.
    parameters: the places of the parameters in a dense bucket.
    """

    index: int = 0
    elements: int = 0
    sparse: bool = False
    table_rows: int = 0
    width: int = 0
    capacity: int = 0
    parameters: tuple[Span, ...] = ()


class Bucket(Gradient):
    """A bucket with its gradient in place. See BucketSpec for the other attributes."""

    __slots__ = ("spec", "index", "elements", "table_rows", "width", "parameters", "payloads", "_made")

    payloads: tuple[tuple[Any, ...], ...]
    """The payloads that the hook has planned for the bucket, by round and transfer: one-dimensional arrays
    of the transfer's type, uint16 for bfloat16. They keep their values between iterations."""

    def __init__(self, spec: BucketSpec, values: Any, rows: Any = None) -> None:
        super().__init__(values, rows)
        self.spec, self.index, self.elements = spec, spec.index, spec.elements
        self.table_rows, self.width, self.parameters = spec.table_rows, spec.width, spec.parameters
        self.payloads = ()
        self._made: list[Any] = []  # operations on it that were not requested yet

    def __repr__(self) -> str:
        if self.sparse:
            return f"<bucket {self.index}: {self._count()} rows of {self.width} elements>"
        return f"<bucket {self.index}: {self.elements} elements>"
