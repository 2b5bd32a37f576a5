"""Tests of parts, for unittest.

``check`` tests a part against the contract of its kind in processes of psbench, like ``psbench plugin
check``::

    class TestTopk(unittest.TestCase):
        def test_contract(self):
            testing.check(self, Topk, refuses={"share": 0})

A test without psbench checks a part's results faster::

        def test_share(self):
            bucket = testing.bucket([1, -8, 2, 4])
            hook = Topk(Topk.Settings(share=0.5), psbench.HookEnv(buckets=[bucket.spec]))
            self.assertEqual(testing.reduce(hook, bucket), ["average"])
            self.assertEqual(bucket.values.tolist(), [0, -8, 0, 4])
"""

from __future__ import annotations

import inspect
import json
import os
import shutil
import subprocess
import unittest
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from .gradients import Bucket, BucketSpec
from .hook import Hook, HookState, Operation, check_asked
from .parts import Part

__all__ = ["bucket", "check", "reduce"]


def check(
    case: unittest.TestCase,
    part: type[Part],
    *,
    settings: Mapping[str, Any] | None = None,
    refuses: Mapping[str, Any] | None = None,
    flags: Sequence[str] = (),
    timeout: float = 600,
) -> None:
    """Tests a part against the contract of its kind. Each point is a subtest of case.

    The script that declares the part must be a plugin, executable and with its interpreter in the first
    line, as ``psbench plugin new`` writes it. A failed point reports the violation and the requirement, and
    later points do not run. Points that can only be tested in Go are skipped.

    settings: the part's settings, instead of its defaults.
    refuses: settings that the part must refuse, each one separately.
    flags: flags of ``psbench plugin check``, such as ``["--dense-only", "--transport", "tcp"]``.
    timeout: time limit for everything, in seconds.

    The program is ``psbench`` on PATH, or the one in the variable PSBENCH.
    """
    command = [_psbench(case), "plugin", "check", "--format", "json", *flags]
    for flag, values in (("--set", settings), ("--refuses", refuses)):
        for name, value in (values or {}).items():
            command += [flag, f"{part.kind}.{name}={json.dumps(value)}"]
    run = subprocess.run([*command, inspect.getfile(part), part.key], capture_output=True, text=True, timeout=timeout)
    outcomes = [json.loads(line) for line in run.stdout.splitlines()]
    for o in outcomes:
        with case.subTest(point=o["point"]):
            if o["outcome"] == "unseen":
                case.skipTest(f"not seen from outside: {o['why']}")
            if o["outcome"] == "failed":
                case.fail(f"{o['why']}\nit must keep this: {o['promise']}\n{_end(run.stderr)}")
    if run.returncode != 0 and all(o["outcome"] != "failed" for o in outcomes):
        case.fail(_end(run.stderr) or f"psbench ended with status {run.returncode}")


def bucket(values: Any, rows: Any = None, index: int = 0, table_rows: int = 0) -> Bucket:
    """Creates a bucket in its own memory: dense, or sparse if row numbers are given.

    values: numbers, or a list of rows for a sparse bucket.
    """
    import numpy as np

    values = np.array(values, np.float32)
    if rows is None:
        return Bucket(BucketSpec(index=index, elements=values.size), values.reshape(-1))
    rows = np.array(rows, np.int32)
    values = values.reshape(len(rows), -1)
    table = max(table_rows, *(int(r) + 1 for r in rows), 1)
    spec = BucketSpec(
        index=index, elements=table * values.shape[1], sparse=True, table_rows=table, width=values.shape[1], capacity=len(rows))
    return Bucket(spec, values, rows)


def reduce(hook: Hook, bucket: Bucket, batch: int = 0) -> list[str]:
    """Lets a hook reduce a bucket in a group of one trainer, and returns the names of the requested
    operations.

    In a group of one, and with a server that averages, no operation changes the bucket. As in a run, an
    operation that the hook creates but neither returns nor yields is an error.
    """
    asked: list[str] = []
    bucket._made.clear()
    reduction = hook.reduce(HookState(batch, bucket.index), bucket)
    if isinstance(reduction, Generator):
        try:
            while True:
                asked.append(_name(next(reduction), bucket))
        except StopIteration as end:
            reduction = end.value
    if reduction is not None:
        asked.append(_name(reduction, bucket))
    check_asked(hook, bucket)
    return asked


def _name(operation: Any, bucket: Bucket) -> str:
    if not isinstance(operation, Operation):
        raise TypeError(f"reduce asks for {operation!r}, which is no operation: return or yield one such as self.group.average(bucket)")
    if operation.bucket is not bucket:
        raise ValueError(f"reduce asks for an operation on {operation.bucket!r}, but was given {bucket!r}")
    operation._asked()
    return operation.name


def _psbench(case: unittest.TestCase) -> str:
    found = os.environ.get("PSBENCH") or shutil.which("psbench")
    if not found:
        case.fail("the program psbench is not found: put its folder into PATH, or its path into the variable PSBENCH")
    return found


def _end(text: str) -> str:
    """The last lines of the output."""
    return "\n".join(text.splitlines()[-40:])
