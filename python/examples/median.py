#!/usr/bin/env python3
"""A server that bears trainers which push anything: the coordinate-wise median.

Each element of the answer is the median of that element over the trainers (Yin et al.,
"Byzantine-Robust Distributed Learning", 2018), so fewer than half of them cannot move it beyond
what the others have pushed.
"""

import numpy as np

import psbench


class Median(psbench.SynchronousServer):
    """Answers all trainers with the median of their gradients, element by element."""

    key = "numpy_median"

    def combine(self, gradients):
        return np.median(gradients, axis=0)


if __name__ == "__main__":
    psbench.serve(Median)
