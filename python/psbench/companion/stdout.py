"""Standard output as the plugin got it from psbench. It is kept for the handshake, so the script may change
standard output before."""

from __future__ import annotations

import contextlib
import io
import os
import sys

COOKIE = ("PSBENCH_PLUGIN", "parameter-server-benchmark")  # in the environment of a process that psbench starts

_kept: int | None = None


def keep() -> None:
    """Keeps the descriptor. The package calls it when a plugin imports the package."""
    global _kept
    if _kept is None and os.environ.get(COOKIE[0]) == COOKIE[1]:
        with contextlib.suppress(OSError):  # if it is closed, psbench reports the missing handshake
            _kept = os.dup(1)


def reopen() -> None:
    """Reopens the descriptor of standard output if the script has closed it. Otherwise, the next opened
    file would get its number."""
    try:
        os.fstat(1)
    except OSError:
        os.dup2(2, 1)


def shake_hands(handshake: str) -> None:
    """Writes the handshake. All later output goes to standard error, line by line."""
    flush()
    if _kept is not None:
        os.write(_kept, f"{handshake}\n".encode())
        if os.path.sameopenfile(_kept, 1):  # otherwise it belongs to the script
            os.dup2(2, 1)
        os.close(_kept)
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.closed:
        sys.stdout.reconfigure(line_buffering=True)


def flush() -> None:
    """Flushes buffered output, unless the script has closed or replaced its streams."""
    for stream in (sys.__stdout__, sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
