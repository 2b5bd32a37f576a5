"""Malloc settings: the process keeps freed memory for the next iteration."""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # from glibc's malloc.h
_LARGEST_FROM_HEAP = 32 << 20  # glibc refuses larger values


def keep_freed_memory() -> None:
    """Makes malloc return only blocks of more than 32 MiB to the kernel.

    By default, glibc adapts to the largest block freed so far. A small network has many small temporaries
    in an iteration. glibc would return them to the kernel at the end of each iteration, and the next
    iteration would begin with a page fault for every page. A libc without mallopt is left unchanged.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _LARGEST_FROM_HEAP)
        mallopt(_M_TRIM_THRESHOLD, -1)
