"""Malloc of this process: what an iteration frees stays with it for the next one."""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
_LARGEST_FROM_HEAP = 32 << 20  # more than that glibc refuses


def keep_freed_memory() -> None:
    """Has malloc give nothing back to the kernel but blocks of more than 32 MiB.

    Left to itself glibc adapts to the largest block that was freed so far. Where an iteration's
    temporaries are many and none is large, as those of a small network, they go back to the kernel
    at the end of each iteration, and the next one begins with a fault for every page. A libc that
    has no mallopt stays as it is.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _LARGEST_FROM_HEAP)
        mallopt(_M_TRIM_THRESHOLD, -1)
