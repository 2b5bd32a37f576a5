#!/usr/bin/env python3
"""psbench's reference model in torch: an embedding bag, linear layers, softmax.

It has the initial values of the built-in model `dummy`, so it reproduces psbench's reference cases:

    psbench plugin add ./reference_model.py
    psbench verify --model reference_model
    psbench --model reference_model --ddp-hook rpc
"""

import dataclasses
import math

import torch
from torch import nn

import psbench
import psbench.initial
import psbench.torch


@dataclasses.dataclass
class Settings:
    num_embeddings: int = psbench.setting(1024, "rows of the embedding table")
    embedding_dim: int = psbench.setting(1024, "columns of the embedding table; equals dense_input_size")
    dense_input_size: int = psbench.setting(1024, "inputs of every dense layer")
    dense_output_size: int = psbench.setting(1024, "outputs of every dense layer, and classes")
    dense_layers_count: int = psbench.setting(8, "dense layers")
    sparse: bool = psbench.setting(False, "give the embedding's gradient as rows")


class Reference(nn.Module):
    def __init__(self, s: Settings) -> None:
        super().__init__()
        self.embedding = nn.EmbeddingBag(s.num_embeddings, s.embedding_dim, mode="mean", sparse=s.sparse)
        layers = [nn.Linear(s.dense_input_size, s.dense_output_size) for _ in range(s.dense_layers_count)]
        self.dense = nn.Sequential(*layers)
        for number, parameter in enumerate(self.parameters()):
            bound = 1.0 if number == 0 else 1 / math.sqrt(s.dense_input_size)
            values = psbench.initial.uniform(torch.initial_seed(), number, parameter.numel(), bound)
            parameter.data = torch.from_numpy(values).view_as(parameter)

    def forward(self, indices: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.dense(self.embedding(indices, offsets)), dim=1)


if __name__ == "__main__":
    psbench.torch.serve(Reference, loss=nn.CrossEntropyLoss())
