#!/usr/bin/env python3
"""A hook that sends the largest elements of each bucket and feeds the rest back.

The rest is added to the next gradient of the same bucket (error feedback; Stich, Cordonnier and Jaggi,
"Sparsified SGD with Memory", 2018). With r, the rest of batch t - 1:

    x = gradient + r,    sent = the share of x that is largest in size,    r = x - sent,

The hook averages the sent gradients over the trainers. It needs as much memory as the buckets.
"""

import dataclasses

import numpy as np

import psbench


class TopK(psbench.Hook):
    """Reduces the largest elements of each dense bucket; sparse buckets are sent completely."""

    key = "numpy_topk"
    links = ("group",)

    @dataclasses.dataclass
    class Settings:
        share: float = psbench.setting(0.01, "share of a bucket's elements that travel: above 0, at most 1")

        def __post_init__(self):
            if not 0 < self.share <= 1:
                raise ValueError(f"setting share is {self.share} but must be above 0 and at most 1")

    def setup(self):
        self.left = [np.zeros(0 if b.sparse else b.elements, np.float32) for b in self.env.buckets]
        self.choosing = self.recorder.series("topk_metric", "choosing")

    def reset(self):
        for left in self.left:
            left[:] = 0

    def reduce(self, state, bucket):
        if not bucket.sparse and bucket.elements:
            start = psbench.now()
            self.choose(bucket.values, self.left[bucket.index])
            self.choosing.record(state.key, start, psbench.now())
        return self.group.average(bucket)

    def choose(self, gradient, left):
        """Adds gradient and left; keeps the largest elements of the sum in gradient and the others in
        left."""
        left += gradient
        count = max(1, round(self.settings.share * left.size))
        chosen = np.argpartition(np.abs(left), left.size - count)[left.size - count:]
        gradient[:] = 0
        gradient[chosen] = left[chosen]
        left[chosen] = 0


if __name__ == "__main__":
    psbench.serve(TopK)
