"""Traffic plans of hooks: payloads that are not the bucket."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TYPES = {
    "float32": "float32", "float16": "float16", "bfloat16": "uint16",
    "int32": "int32", "int64": "int64", "int8": "int8", "uint8": "uint8",
}
"""The element types, and numpy's name for each; numpy has no bfloat16."""


@dataclasses.dataclass(frozen=True)
class Transfer:
    """One operation of a traffic plan, on a payload of its own.

    kind: ``"pushpull"`` over the server link, or over the group ``"allreduce"``, ``"average"``,
        ``"broadcast"``, ``"reducescatter"``, ``"allgather"`` or ``"alltoall"``.
    dtype: element type: ``"float32"``, ``"float16"``, ``"bfloat16"``, ``"int32"``, ``"int64"``, ``"int8"`` or
        ``"uint8"``.
    elements: size of the payload.
    root: position of the trainer that a broadcast starts from.
    """

    kind: str
    dtype: str
    elements: int
    root: int = 0


Plan = Sequence[Union[None, Sequence[Sequence[Transfer]]]]
"""What ``Hook.plan`` returns: for each bucket its rounds, each a list of transfers. None, or no rounds: the hook
reduces the bucket over its links."""


def described(plan: Any) -> Iterator[dict[str, Any]]:
    """A plan in the form of its message, by bucket."""
    for bucket, rounds in enumerate(_listed(plan, "a plan", "a list with the rounds of each bucket")):
        yield {"rounds": [
            {"operations": [_operation(t, bucket) for t in _listed(transfers, f"a round of bucket {bucket}", "a list of psbench.Transfer")]}
            for transfers in _listed(() if rounds is None else rounds, f"the rounds of bucket {bucket}", "a list of rounds")]}


def _listed(value: Any, what: str, wanted: str) -> Sequence[Any]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{what} must be {wanted}, not of type {type(value).__name__}")
    return value


def _operation(transfer: Any, bucket: int) -> dict[str, Any]:
    if not isinstance(transfer, Transfer):
        raise TypeError(f"a round of bucket {bucket} must be a list of psbench.Transfer, but one element is of type {type(transfer).__name__}")
    for name, wanted in (("kind", str), ("dtype", str), ("elements", numbers.Integral), ("root", numbers.Integral)):
        value = getattr(transfer, name)
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise TypeError(f"{name} of {transfer!r} in bucket {bucket} must be of type {'str' if wanted is str else 'int'}")
    elements, root = int(transfer.elements), int(transfer.root)
    if not (0 <= elements < 2**31 and 0 <= root < 2**31):
        raise ValueError(f"elements and root of {transfer!r} in bucket {bucket} must be 0 or more and below 2^31")
    return {"kind": transfer.kind, "type": transfer.dtype, "elements": elements, "root": root}


def to_bfloat16(values: Any) -> NDArray[np.uint16]:
    """Rounds float32 values to bfloat16, in uint16: to nearest, ties to even. NaN stays NaN."""
    import numpy as np

    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = ((bits + (0x7FFF + (bits >> 16 & 1))) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), (bits >> 16 | 0x40).astype(np.uint16), rounded)


def from_bfloat16(values: Any) -> NDArray[np.float32]:
    """The float32 values of bfloat16 values in uint16."""
    import numpy as np

    return (np.asarray(values, np.uint16).astype(np.uint32) << 16).view(np.float32)
