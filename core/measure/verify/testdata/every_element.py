#!/usr/bin/env python3
"""Reference cases in which every element of every parameter has a gradient in every iteration, so
also the first and the last one of every bucket, however parameters are cut into buckets. PyTorch
computes them in one process: each trainer's gradients, their mean, and a step of SGD on every replica.

The model is the softmax of linear layers on the mean of a bag's embeddings, its initial values are the
SplitMix64 stream of psbench (sdk/initial.go), and the samples of each batch hold every row of the
embedding at least once.

    /usr/bin/python3 every_element.py ../reference      (needs torch and numpy)
"""

import json
import math
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F

torch.set_num_threads(1)
ROWS, LAYERS, LENGTH, BATCH, STEPS, EPOCHS, LR = 16, 2, 6, 4, 3, 2, 2.0
TOLERANCE = {"loss_rel": 2e-6, "delta_head_abs": 5e-7, "delta_sumsq_rel": 1e-5}


def uniform(seed, tensor, count):
    """float32 in [-1, 1): the stream of a tensor."""
    mask = (1 << 64) - 1
    values = []
    for i in range(count):
        x = (seed * 1000003 + tensor + (i + 1) * 0x9E3779B97F4A7C15) & mask
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
        x ^= x >> 31
        values.append(2 * ((x >> 40) / 2**24) - 1)
    return np.array(values, np.float32)


def parameters(seed):
    """The embedding, then weight and bias of each layer."""
    bound = 1 / math.sqrt(ROWS)
    shapes = [((ROWS, ROWS), 1.0)] + [(shape, bound) for _ in range(LAYERS) for shape in ((ROWS, ROWS), (ROWS,))]
    return [
        torch.from_numpy((uniform(seed, k, math.prod(shape)) * np.float32(b)).reshape(shape)).requires_grad_(True)
        for k, (shape, b) in enumerate(shapes)
    ]


def samples(seed, count):
    """Bags and targets. A batch of 4 bags of 6 holds each of the 16 rows, and 8 more."""
    rng = np.random.default_rng(seed)
    inputs = []
    for _ in range(count // BATCH):
        rows = np.concatenate([np.arange(ROWS), rng.integers(0, ROWS, BATCH * LENGTH - ROWS)])
        inputs += rng.permutation(rows).reshape(BATCH, LENGTH).tolist()
    return inputs, rng.integers(0, ROWS, count).tolist()


def loss_of(params, inputs, targets):
    x = F.embedding_bag(torch.tensor(inputs), params[0], mode="mean")
    for k in range(1, len(params), 2):
        x = F.linear(x, params[k], params[k + 1])
    return F.cross_entropy(F.softmax(x, dim=1), torch.tensor(targets))


def train(seed, trainers, inputs, targets):
    """Losses and final parameters of every trainer; batches go to trainers in turn."""
    replicas, losses = [parameters(seed) for _ in range(trainers)], [[] for _ in range(trainers)]
    for _ in range(EPOCHS):
        for step in range(STEPS):
            gradients = []
            for rank, params in enumerate(replicas):
                first = (step * trainers + rank) * BATCH
                loss = loss_of(params, inputs[first:first + BATCH], targets[first:first + BATCH])
                losses[rank].append(float(loss))
                gradients.append(torch.autograd.grad(loss, params))
                assert all((g != 0).all() for g in gradients[-1]), "an element has no gradient"
            for params in replicas:
                for k, p in enumerate(params):
                    with torch.no_grad():
                        p -= LR * sum(g[k] for g in gradients) / trainers
    return losses, replicas


def summary(params, initial):
    out = []
    for p, p0 in zip(params, initial):
        delta = (p.detach().double() - p0.detach().double()).flatten()
        out.append({
            "delta_sum": float(delta.sum()), "delta_sumsq": float((delta**2).sum()),
            "delta_head": delta[:8].tolist(), "head": p.detach().flatten()[:8].tolist(),
        })
    return out


def case(name, seed, hook, server, trainers, sparse):
    inputs, targets = samples(seed, STEPS * trainers * BATCH)
    losses, replicas = train(seed, trainers, inputs, targets)
    return {
        "name": name, "kind": "ddp", "seed": seed, "trainer": "ddp", "server": server, "ddp_hook": hook,
        "ntrainer": trainers, "nserver": 1 if server else 0, "epochs": EPOCHS, "batch_size": BATCH, "lr": LR,
        "model": {
            "num_embeddings": ROWS, "embedding_dim": ROWS, "dense_input_size": ROWS, "dense_output_size": ROWS,
            "dense_layers_count": LAYERS, "sparse": sparse,
        },
        "data": {"inputs": inputs, "targets": targets},
        "tolerance": TOLERANCE,
        "expect": {"loss": losses, "params": [summary(params, parameters(seed)) for params in replicas]},
    }


def main():
    for c in (
        case("every_element_allreduce_t2", 21, "allreduce", None, 2, False),
        case("every_element_rpc_sparse_t3_s1", 23, "rpc", "average", 3, True),
    ):
        path = pathlib.Path(sys.argv[1]) / f"{c['name']}.json"
        path.write_text(json.dumps(c) + "\n")
        losses = c["expect"]["loss"][0]
        print(f"{c['name']:32s} loss {losses[0]:.6f} -> {losses[-1]:.6f}")


if __name__ == "__main__":
    main()
