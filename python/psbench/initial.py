"""Initial values of psbench's own models: a pure function of seed, tensor and element."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def uniform(seed: int, tensor: int, count: int, bound: float = 1.0) -> NDArray[np.float32]:
    """So many values, uniform in [-bound, bound), from the SplitMix64 stream with the tensor's number.

    Tensors of a model are numbered from 0 in the order of its parameters. The bound of psbench's own layers
    is 1 / sqrt(inputs). The bound of the embedding in the model ``dummy`` is 1.
    """
    with np.errstate(over="ignore"):
        start = np.uint64((seed * 1000003 + tensor) % 2**64)
        x = start + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    u = (x >> np.uint64(40)).astype(np.float32) / np.float32(2**24)  # 24 bits are exact in a float32
    return (2 * u - 1) * np.float32(bound)
