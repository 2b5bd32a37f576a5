#!/usr/bin/env python3
"""A psbench plugin: a multilayer perceptron of 1.9 million parameters for images of 28 x 28 pixels.
torch_digits.py trains the same module."""
import dataclasses

from torch import nn

import psbench
import psbench.torch


@dataclasses.dataclass
class Settings:
    width: int = psbench.setting(1024, "of both inner layers")


def build_model(settings: Settings) -> nn.Module:
    w = settings.width
    return nn.Sequential(nn.Flatten(), nn.Linear(784, w), nn.ReLU(), nn.Linear(w, w), nn.ReLU(), nn.Linear(w, 10))


if __name__ == "__main__":
    psbench.torch.serve(build_model)
