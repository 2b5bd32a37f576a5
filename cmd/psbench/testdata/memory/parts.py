#!/usr/bin/env python3
"""A hook, a model and a server that work in large buckets and copy nothing."""

import numpy as np

import psbench

FEATURES, CLASSES = 2048, 5120


class Ends(psbench.Hook):
    key = "python"
    links = ("server",)

    def reduce(self, state, bucket):
        bucket.values[0] += 1
        bucket.values[-1] += 1
        return self.server.push_pull(bucket)


class Product(psbench.Model):
    key = "python"

    def parameters(self):
        return [psbench.Parameter("weight", (FEATURES, CLASSES))]

    def inputs(self):
        return psbench.Inputs(features=FEATURES, classes=CLASSES)

    def initialize(self, seed):
        self.values[0][:] = seed + 1

    def forward(self, batch):
        self.features = batch.features
        return np.matmul(batch.features, self.values[0], out=self.output(batch.size, CLASSES))

    def backward(self, output_gradient, emit):
        np.matmul(self.features.T, output_gradient, out=self.gradients[0].values)
        emit(0)


class Sum(psbench.SynchronousServer):
    key = "python"

    def combine(self, gradients):
        for gradient in gradients[1:]:
            gradients[0] += gradient
        return gradients[0]


if __name__ == "__main__":
    psbench.serve(Ends, Product, Sum)
