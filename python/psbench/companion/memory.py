"""Memory of the host: segments and the tensors in them."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

from .frames import ELEMENTS
from .link import LinkError


class Memory:
    """The mapped segments of a link, and the announced tensors.

    A segment stays mapped while anything refers to it, so a tensor kept after the end of the link is
    outdated but accessible.
    """

    def __init__(self) -> None:
        self._segments: dict[int, mmap.mmap] = {}
        self._tensors: dict[tuple[int, int], Any] = {}

    def add_segment(self, number: int, size: int, descriptor: int, read_only: bool) -> None:
        """Maps a segment and closes its descriptor."""
        if descriptor < 0:
            raise LinkError(f"segment {number} came without a descriptor")
        try:
            access = mmap.PROT_READ if read_only else mmap.PROT_READ | mmap.PROT_WRITE
            self._segments[number] = mmap.mmap(descriptor, size, mmap.MAP_SHARED, access)
        except (OSError, ValueError) as error:
            raise LinkError(f"segment {number} of {size} bytes cannot be mapped: {error}") from error
        finally:
            os.close(descriptor)

    def add_tensor(self, role: int, index: int, segment: int, offset: int, count: int) -> None:
        """Records the place of a tensor."""
        if count == 0:
            self._tensors[role, index] = np.empty(0, ELEMENTS.get(role, "float32"))
            return
        if segment not in self._segments:
            raise LinkError(f"tensor {index} of role {role} lies in the unknown segment {segment}")
        self._tensors[role, index] = self.view(segment, offset, count, ELEMENTS.get(role, "float32"))

    def view(self, segment: int, offset: int, count: int, dtype: str) -> Any:
        """Elements of a segment as a one-dimensional numpy array."""
        try:
            return np.ndarray((count,), dtype, self._segments[segment], offset)
        except (TypeError, ValueError) as error:
            raise LinkError(f"{count} elements at byte {offset} of segment {segment}, of {len(self._segments[segment])} bytes: {error}") from error

    def tensor(self, role: int, index: int = 0) -> Any:
        """A tensor as a one-dimensional numpy array of its full capacity."""
        try:
            return self._tensors[role, index]
        except KeyError:
            raise LinkError(f"tensor {index} of role {role} was not announced") from None
