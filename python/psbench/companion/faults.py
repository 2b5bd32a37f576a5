"""Errors of parts: the run gets one sentence, the process's log the whole traceback."""

from __future__ import annotations

import pathlib
import sys
import traceback

_OURS = str(pathlib.Path(__file__).parent)


class Fault(Exception):
    """An error whose sentence is sufficient without a traceback."""


def last_line(error: BaseException) -> str:
    """Type and text of an exception, as in the last line of its traceback, in Unicode."""
    text = str(error) if isinstance(error, Fault) else traceback.format_exception_only(error)[-1]
    return encode(" ".join(text.split())).decode()


def encode(text: str) -> bytes:
    """A text in UTF-8. Invalid parts, such as bytes of a file name that is not UTF-8, become backslash
    escapes."""
    return text.encode(errors="backslashreplace")


def print_traceback(error: BaseException) -> None:
    """Writes the traceback of an exception to standard error, starting at the call of the part."""
    if isinstance(error, Fault):
        return
    found = error.__traceback__
    while found is not None and found.tb_frame.f_code.co_filename.startswith(_OURS):
        found = found.tb_next
    traceback.print_exception(error.with_traceback(found or error.__traceback__), file=sys.stderr)
    sys.stderr.flush()
