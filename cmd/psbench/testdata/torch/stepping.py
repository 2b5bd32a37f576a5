"""The reference model, stepped by torch's own optimizer with the learning rate of the reference cases."""
import pathlib
import sys

import torch

import psbench.torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[4] / "python" / "examples"))

from reference_model import Reference  # noqa: E402

psbench.torch.serve(Reference, optimizer=lambda params: torch.optim.SGD(params, lr=2.0))
