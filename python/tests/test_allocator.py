"""Malloc in a plugin keeps freed memory."""

import resource
import subprocess
import sys
import unittest

FAULTS = """
import resource
import numpy as np
from psbench.companion.allocator import keep_freed_memory

def iteration():
    blocks = [np.ones(1 << 15, np.float32) for _ in range(40)]

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

if {kept}:
    keep_freed_memory()
for _ in range(3):
    iteration()
before = faults()
for _ in range(10):
    iteration()
print(faults() - before)
"""


class AllocatorTest(unittest.TestCase):
    def faults(self, kept: bool) -> int:
        done = subprocess.run([sys.executable, "-c", FAULTS.format(kept=kept)], check=True, capture_output=True, text=True)
        return int(done.stdout)

    def test_temporaries_cost_no_faults_again(self):
        pages = 40 * (1 << 17) // resource.getpagesize()
        self.assertGreater(self.faults(kept=False), 5 * pages, "glibc keeps them by itself: then this is needed no more")
        self.assertLess(self.faults(kept=True), pages // 10)
