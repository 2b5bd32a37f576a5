#!/usr/bin/env python3
"""A server that tolerates trainers with arbitrary pushes: the coordinate-wise median.

Each element of the answer is the median of that element over the trainers (Yin et al., "Byzantine-Robust
Distributed Learning", 2018), so a minority of trainers cannot move it beyond the values of the others.
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
