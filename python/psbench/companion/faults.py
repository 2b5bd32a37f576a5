"""Errors of parts: one sentence for the run, the whole traceback for the process's log."""

from __future__ import annotations

import pathlib
import sys
import traceback

_OURS = str(pathlib.Path(__file__).parent)


class Fault(Exception):
    """Something that is wrong, in a sentence that needs no traceback."""


def last_line(error: BaseException) -> str:
    """Type and text of an exception, as the last line of its traceback has them, in Unicode."""
    text = str(error) if isinstance(error, Fault) else traceback.format_exception_only(error)[-1]
    return encode(" ".join(text.split())).decode()


def encode(text: str) -> bytes:
    """A text in UTF-8; what is none, such as half of a file's name that is not, as a backslash shows it."""
    return text.encode(errors="backslashreplace")


def print_traceback(error: BaseException) -> None:
    """Writes the traceback of an exception to standard error, from where the part was called."""
    if isinstance(error, Fault):
        return
    found = error.__traceback__
    while found is not None and found.tb_frame.f_code.co_filename.startswith(_OURS):
        found = found.tb_next
    traceback.print_exception(error.with_traceback(found or error.__traceback__), file=sys.stderr)
    sys.stderr.flush()
