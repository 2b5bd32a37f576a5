#!/usr/bin/env python3
"""A small convolutional network for images of 28 x 28 pixels, such as psbench's built-in digits:

    psbench plugin add ./convnet.py
    psbench --model convnet --create-criterion convnet --data DigitSample --set data.held_out=0.1 \\
        --set trainer.optimizer=adam --set trainer.lr=0.003 --epochs 2
"""

import dataclasses

from torch import nn

import psbench
import psbench.torch


@dataclasses.dataclass
class Settings:
    channels: int = psbench.setting(16, "of the first layer; the second has twice as many")
    classes: int = psbench.setting(10, "what the images show")


def build_model(settings: Settings) -> nn.Module:
    c = settings.channels
    return nn.Sequential(
        nn.Conv2d(1, c, 5, stride=2), nn.BatchNorm2d(c), nn.ReLU(),
        nn.Conv2d(c, 2 * c, 5, stride=2), nn.BatchNorm2d(2 * c), nn.ReLU(),
        nn.Flatten(), nn.Linear(2 * c * 4 * 4, settings.classes))


if __name__ == "__main__":
    psbench.torch.serve(build_model, loss=nn.CrossEntropyLoss(), features=(1, 28, 28))
