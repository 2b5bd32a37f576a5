#!/usr/bin/env python3
"""Measures how much memory a process needs for a BLAS library after one multiplication: the library's
pages, the pages of its dependencies, and its buffers. Prints one JSON line.

The product is the largest of the default model at batch 128: [128, 1024] x [1024, 1024]. The matrices are
allocated before, so they do not count.
"""
import argparse
import ctypes
import json
import os
import sys

M, N, K = 1024, 128, 1024    # column-major, as in the call of sgemm_


def resident_kib():
    with open("/proc/self/smaps_rollup", encoding="utf-8") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("Rss:"))


def matrix(rows, columns):
    """Positive numbers in resident pages; a float of bytes 3f is about 0.75."""
    m = (ctypes.c_float * (rows * columns))()
    ctypes.memset(m, 0x3f, ctypes.sizeof(m))
    return m


def multiply(library, a, b, c):
    integer = {name: ctypes.byref(ctypes.c_int64(v)) for name, v in {"m": M, "n": N, "k": K}.items()}
    one, zero, plain = ctypes.byref(ctypes.c_float(1)), ctypes.byref(ctypes.c_float(0)), ctypes.c_char_p(b"N")
    library.sgemm_(plain, plain, integer["m"], integer["n"], integer["k"], one, a, integer["m"], b, integer["k"],
                   zero, c, integer["m"])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--library", default="libopenblas.so.0", help="default %(default)s")
    name = p.parse_args().library
    a, b, c = matrix(M, K), matrix(K, N), matrix(M, N)
    before = resident_kib()
    try:
        library = ctypes.CDLL(name)
    except OSError as e:
        sys.exit(f"blas_memory.py: {e}")
    loaded = resident_kib()
    multiply(library, a, b, c)
    after = resident_kib()
    want = K * a[0] * b[0]
    if not abs(c[0] - want) <= 1e-4 * want:
        sys.exit(f"blas_memory.py: {name} multiplied wrongly: {c[0]} instead of {want}")
    print(json.dumps({"library": name, "threads": int(os.environ.get("OPENBLAS_NUM_THREADS", "0")),
                      "loaded_kib": loaded - before, "rss_kib": after - before}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
