"""Runs compare.py in tests, with fake programs."""
import contextlib
import io
import os
import re
import sys
import tempfile
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import compare  # noqa: E402
import measure  # noqa: E402

PEERS = ("torch_pushpull", "torch_allreduce", "torch_ps", "torch_cuda", "torch_step", "torch_digits", "torch_dlrm", "torch_hybrid", "torch_batch_update",
         "blas_memory", "shared_memory", "cpu_time")
FAKES = ("bin/psbench", *(f"bin/{tool}{vendor}" for tool in ("mpicc", "mpirun") for vendor in ("", ".openmpi", ".mpich")), *(f"peers/{name}.py" for name in PEERS))


class Compare(unittest.TestCase):
    """Base class of tests that run the whole of compare.py."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for path in FAKES:
            path = os.path.join(self.folder, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.symlink(os.path.join(HERE, "testdata", "fake.py"), path)
        self.out, self.log = os.path.join(self.folder, "out"), os.path.join(self.folder, "log")

    def run_compare(self, *argv, broken=""):
        """(exit status, stdout, stderr)"""
        env = {"FAKE_LOG": self.log, "FAKE_BREAK": broken,
               "PATH": os.path.join(self.folder, "bin") + os.pathsep + os.environ["PATH"]}
        out, err = io.StringIO(), io.StringIO()
        # The load of the machine that runs the tests must not mark their turns as loud.
        with mock.patch.object(measure, "busy_and_total", return_value=(0.0, 1.0)), \
                mock.patch.dict(os.environ, env), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = compare.main([*argv, "--out", self.out])
            except SystemExit as e:
                status = e.code
        return status, out.getvalue(), err.getvalue()

    def measured(self, *argv, broken=""):
        return self.run_compare(*argv, "--settle", "0", "--tries", "1", "--python", sys.executable,
                                "--psbench", os.path.join(self.folder, "bin/psbench"),
                                "--peers", os.path.join(self.folder, "peers"), broken=broken)

    def lines(self, markdown):
        """The cells of every table's lines."""
        return [[c.strip() for c in line.strip("|").split("|")] for line in markdown.splitlines()
                if re.match(r"\| \d", line)]
