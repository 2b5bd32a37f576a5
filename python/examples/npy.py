#!/usr/bin/env python3
"""Data from two .npy files: the samples' numbers and their targets."""

import dataclasses

import numpy as np

import psbench


class Npy(psbench.Data):
    """Samples from two .npy files. The last ones are held out for evaluating the model."""

    key = "npy"

    @dataclasses.dataclass
    class Settings:
        features: str = psbench.setting("features.npy", "file of the numbers: [samples, ...], of any type of numbers")
        targets: str = psbench.setting("targets.npy", "file of the targets: whole numbers or others, [samples] or [samples, targets]")
        held_out: float = psbench.setting(0.2, "share of the samples, the last ones, that the model is evaluated on")

        def __post_init__(self):
            if not 0 <= self.held_out < 1:
                raise ValueError(f"setting held_out is {self.held_out} but must be 0 or more and below 1")

    def load(self, limits):
        features, targets = self.read(self.settings.features), self.read(self.settings.targets)
        features = features.reshape(len(features), -1).astype(np.float32)
        if features.shape[1] != limits.features:
            raise ValueError(f"{self.settings.features} has {features.shape[1]} numbers for each sample, but the model takes {limits.features}")
        if len(targets) != len(features) or targets.ndim > 2:
            raise ValueError(f"{self.settings.targets} is {targets.dtype} {list(targets.shape)}, but must be [{len(features)}] or [{len(features)}, targets], "
                             f"for each sample of {self.settings.features}")
        trained = len(features) - int(self.settings.held_out * len(features))
        held_out = self.samples(features, targets, trained, len(features)) if trained < len(features) else None
        samples = self.samples(features, targets, 0, trained)
        samples.held_out = held_out
        return samples

    def read(self, path):
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise ValueError(f"{path} cannot be read as .npy: {error}") from error
        if not isinstance(array, np.ndarray) or array.ndim == 0 or array.dtype.kind not in "iufb":
            what = f"{array.dtype} {list(array.shape)}" if isinstance(array, np.ndarray) else "an archive"
            raise ValueError(f"{path} is {what}, but must be an array of numbers, [samples, ...]")
        return array.astype(np.int64) if array.dtype.kind == "b" else array  # True becomes 1

    def samples(self, features, targets, first, last):
        """The samples from the first up to the last one."""
        def origin(sample, position):
            path, place = (self.settings.features, position) if position >= 0 else (self.settings.targets, -1 - position)
            return f"{path}, sample {first + sample}, number {place}"
        return psbench.Samples(features=features[first:last], targets=np.asarray(targets[first:last]), origin=origin)


if __name__ == "__main__":
    psbench.serve(Npy)
