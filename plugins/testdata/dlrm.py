#!/usr/bin/python3
"""Trains a small DLRM with PyTorch for some steps and writes the results.

    python3 plugins/testdata/dlrm.py

Everything is float32. The file in the repository comes from PyTorch 1.13.
"""
import json
import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

TARGET = pathlib.Path(__file__).resolve().parent.parent / "models" / "testdata" / "dlrm.json"
MODEL = {
    "dense_features": 5, "table_rows": [7, 3, 11, 20], "embedding_dim": 6,
    "bottom_layers": [12, 6], "top_layers": [10, 8, 1],
}
SEED, STEPS, BATCH, LR = 11, 5, 16, 0.5


def uniform(number, count):
    """The seed's stream with this number, in [-1, 1): SplitMix64 in closed form."""
    golden, mask = 0x9E3779B97F4A7C15, (1 << 64) - 1
    start = np.uint64((SEED * 1000003 + number) & mask)
    with np.errstate(over="ignore"):
        x = start + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(golden)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x = x ^ (x >> np.uint64(31))
    return np.float32(2) * ((x >> np.uint64(40)).astype(np.float32) / np.float32(1 << 24)) - np.float32(1)


class DLRM(torch.nn.Module):
    def __init__(self):
        super().__init__()
        dim = MODEL["embedding_dim"]
        self.stack = torch.nn.Parameter(torch.empty(sum(MODEL["table_rows"]), dim))
        self.first = torch.tensor(np.cumsum([0] + MODEL["table_rows"][:-1]))
        vectors = 1 + len(MODEL["table_rows"])
        self.bottom = self.layers([MODEL["dense_features"], *MODEL["bottom_layers"]])
        self.top = self.layers([dim + vectors * (vectors - 1) // 2, *MODEL["top_layers"]])
        self.pairs = torch.tril_indices(vectors, vectors, offset=-1)
        self.initialize()

    @staticmethod
    def layers(sizes):
        return torch.nn.ModuleList(torch.nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

    @torch.no_grad()
    def initialize(self):
        """Tensor k of the parameters is stream k: the tables within 1/sqrt(rows), the
        layers within 1/sqrt(inputs)."""
        bounds = np.repeat([np.float32(1 / math.sqrt(r)) for r in MODEL["table_rows"]],
                           [r * MODEL["embedding_dim"] for r in MODEL["table_rows"]])
        tensors = [(self.stack, bounds)]
        for layer in [*self.bottom, *self.top]:
            bound = np.float32(1 / math.sqrt(layer.in_features))
            tensors += [(layer.weight, bound), (layer.bias, bound)]
        for number, (tensor, bound) in enumerate(tensors):
            tensor.copy_(torch.from_numpy(uniform(number, tensor.numel()) * bound).view_as(tensor))

    def forward(self, numbers, indices):
        x = numbers
        for layer in self.bottom:
            x = F.relu(layer(x))
        rows = F.embedding(indices + self.first, self.stack)
        vectors = torch.cat([x[:, None], rows], dim=1)
        products = vectors @ vectors.transpose(1, 2)
        x = torch.cat([x, products[:, self.pairs[0], self.pairs[1]]], dim=1)
        for layer in self.top[:-1]:
            x = F.relu(layer(x))
        return self.top[-1](x)[:, 0]


def batch(generator):
    numbers = torch.randn(BATCH, MODEL["dense_features"], generator=generator)
    indices = torch.stack([torch.randint(r, (BATCH,), generator=generator) for r in MODEL["table_rows"]], dim=1)
    return numbers, indices, torch.randint(2, (BATCH,), generator=generator)


def main():
    generator, model = torch.Generator().manual_seed(3), DLRM()
    initial = [p.detach().clone().double() for p in model.parameters()]
    optimizer = torch.optim.SGD(model.parameters(), lr=LR)
    batches, losses = [], []
    for _ in range(STEPS):
        numbers, indices, targets = batch(generator)
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(numbers, indices), targets.float())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        batches.append({"features": [float(f"{v:.9g}") for v in numbers.flatten().tolist()],
                        "indices": indices.flatten().tolist(), "targets": targets.tolist()})
    change = {n: (p.detach().double() - p0).square().sum().item()
              for (n, p), p0 in zip(model.named_parameters(), initial)}
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(json.dumps({"model": MODEL, "seed": SEED, "lr": LR, "batches": batches, "losses": losses,
                                  "squares_of_change": list(change.values())}) + "\n")


if __name__ == "__main__":
    main()
