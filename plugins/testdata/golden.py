#!/usr/bin/python3
"""Writes PyTorch's results for the optimizers and criteria, for the tests of both.

    python3 plugins/testdata/golden.py

Inputs are float32 numbers; everything is computed in float64. The files in the repository come from PyTorch
1.13.
"""
import json
import pathlib

import torch
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS, ROWS, WIDTH = 5, 4, 3


def normal(generator, *shape):
    """Normal numbers that float32 represents exactly, as float64."""
    return torch.randn(*shape, generator=generator).double()


def numbers(tensor):
    """Nine digits, which are enough to read a float32 back exactly."""
    return [float(f"{v:.9g}") for v in tensor.detach().flatten().tolist()]


class RowwiseAdagrad:
    """Adagrad with one sum of mean squares for each row of a table; PyTorch has none."""

    def __init__(self, parameters, lr, eps=1e-10):
        (self.table,) = parameters
        self.lr, self.eps = lr, eps
        self.sums = torch.zeros(self.table.shape[0], 1, dtype=torch.float64)

    def step(self):
        gradient = self.table.grad.to_dense()
        self.sums += gradient.square().mean(dim=1, keepdim=True)
        self.table.data -= self.lr * gradient / (self.sums.sqrt() + self.eps)


def dense_adam(beta1=0.9, beta2=0.999, **settings):
    return lambda p: torch.optim.Adam(p, betas=(beta1, beta2), **settings)


def sparse_adam(beta1=0.9, beta2=0.999, **settings):
    return lambda p: torch.optim.SparseAdam(p, betas=(beta1, beta2), **settings)


def of(optimizer):
    return lambda **settings: lambda p: optimizer(p, **settings)


OPTIMIZERS = {  # by name and by whether the gradient is sparse
    ("sgd", False): of(torch.optim.SGD),
    ("sgd", True): of(torch.optim.SGD),
    ("adam", False): dense_adam,
    ("adam", True): sparse_adam,
    ("adagrad", False): of(torch.optim.Adagrad),
    ("adagrad", True): of(torch.optim.Adagrad),
    ("rowwise_adagrad", False): of(torch.optim.Adagrad),
    ("rowwise_adagrad", True): of(RowwiseAdagrad),
}

OPTIMIZER_CASES = [
    ("sgd", {"lr": 0.1}, "both"),
    ("sgd", {"lr": 0.1, "weight_decay": 0.3}, "dense"),
    ("sgd", {"lr": 0.1, "momentum": 0.9}, "both"),
    ("sgd", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.3}, "dense"),
    ("sgd", {"lr": 0.1, "momentum": 0.9, "nesterov": True}, "both"),
    ("sgd", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.3}, "dense"),
    ("adam", {"lr": 0.1}, "both"),
    ("adam", {"lr": 0.1, "weight_decay": 0.3}, "dense"),
    ("adam", {"lr": 0.1, "beta1": 0.5, "beta2": 0.75, "eps": 0.5}, "both"),
    ("adagrad", {"lr": 0.1}, "both"),
    ("adagrad", {"lr": 0.1, "weight_decay": 0.3}, "dense"),
    ("adagrad", {"lr": 0.1, "eps": 0.5}, "both"),
    ("rowwise_adagrad", {"lr": 0.1}, "both"),
    ("rowwise_adagrad", {"lr": 0.1, "eps": 0.5}, "sparse"),
]


def optimizer_case(name, settings, sparse, generator):
    """STEPS steps of a table in which some rows have no gradient in some steps."""
    start = normal(generator, ROWS, WIDTH)
    table = torch.nn.Parameter(start.clone())
    optimizer = OPTIMIZERS[name, sparse](**settings)([table])
    steps = []
    for step in range(STEPS):
        named = torch.rand(ROWS, generator=generator) < 0.5 if sparse else torch.ones(ROWS, dtype=torch.bool)
        named[step % ROWS] = True  # Adagrad of PyTorch 1.13 fails on a gradient without rows
        rows = named.nonzero().flatten()
        gradient = normal(generator, len(rows), WIDTH)
        table.grad = torch.sparse_coo_tensor(rows[None], gradient, (ROWS, WIDTH)).coalesce()
        if not sparse:
            table.grad = table.grad.to_dense()
        optimizer.step()
        steps.append({"gradient": numbers(gradient), "values": numbers(table)})
        if sparse:
            steps[-1]["rows"] = rows.tolist()
    return {
        "settings": {"optimizer": name, **settings}, "sparse": sparse,
        "rows": ROWS, "width": WIDTH, "start": numbers(start), "steps": steps,
    }


def optimizer_cases():
    generator = torch.Generator().manual_seed(1)
    return [
        optimizer_case(name, settings, sparse, generator)
        for name, settings, which in OPTIMIZER_CASES
        for sparse in (False, True)
        if which in ("both", "sparse" if sparse else "dense")
    ]


def repeated(loss):
    """A loss that compares every output with its row's target."""
    return lambda output, targets: loss(output, targets.double()[:, None].expand_as(output))


CRITERIA = {
    "cel": F.cross_entropy,
    "nll": F.nll_loss,
    "bce": lambda output, targets: F.binary_cross_entropy_with_logits(output[:, 0], targets.double()),
    "mse": repeated(F.mse_loss),
    "l1": repeated(F.l1_loss),
}


def criterion_case(criterion, rows, columns, scale, generator):
    """Outputs of the given scale; large scales give extreme logits."""
    output = (normal(generator, rows, columns) * scale).float().double()
    if criterion == "nll":
        output = F.log_softmax(output, dim=1).float().double()
    targets = torch.randint(2 if criterion == "bce" else columns, (rows,), generator=generator)
    output.requires_grad_()
    loss = CRITERIA[criterion](output, targets)
    loss.backward()
    return {
        "criterion": criterion, "rows": rows, "columns": columns, "targets": targets.tolist(),
        "output": numbers(output),
        "loss": loss.item(), "gradient": numbers(output.grad),
    }


SHAPES = [(1, 1, 1), (6, 7, 0.1), (5, 3, 3), (7, 5, 100), (9, 4, 1e30)]

# Criteria whose targets are numbers, one for each output.
FLOAT_CRITERIA = {
    "cel": F.cross_entropy,
    "bce": F.binary_cross_entropy_with_logits,
    "mse": F.mse_loss,
    "l1": F.l1_loss,
}


def float_targets(criterion, rows, columns, generator):
    """Probabilities, shares (some are 0 or 1), or numbers of both signs."""
    if criterion == "cel":
        return F.softmax(normal(generator, rows, columns) * 2, dim=1).float().double()
    if criterion == "bce":
        return (torch.rand(rows, columns, generator=generator) * 1.5 - 0.25).clamp(0, 1).float().double()
    return (normal(generator, rows, columns) * 3).float().double()


def float_case(criterion, rows, columns, scale, generator):
    output = (normal(generator, rows, columns) * scale).float().double().requires_grad_()
    targets = float_targets(criterion, rows, columns, generator)
    loss = FLOAT_CRITERIA[criterion](output, targets)
    loss.backward()
    return {
        "criterion": criterion, "rows": rows, "columns": columns, "floattargets": numbers(targets),
        "output": numbers(output),
        "loss": loss.item(), "gradient": numbers(output.grad),
    }


def criterion_cases():
    generator = torch.Generator().manual_seed(2)
    cases = [
        criterion_case(criterion, rows, 1 if criterion == "bce" else columns, scale, generator)
        for criterion in CRITERIA
        for rows, columns, scale in SHAPES
    ]
    return cases + [float_case(criterion, *shape, generator) for criterion in FLOAT_CRITERIA for shape in SHAPES]


def write(package, cases):
    path = ROOT / package / "testdata" / "golden.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")


if __name__ == "__main__":
    write("sdk/optimizer", optimizer_cases())
    write("plugins/criteria", criterion_cases())
