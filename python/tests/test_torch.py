"""psbench.torch: torch modules as models, without a run."""

from __future__ import annotations

import dataclasses
import gc
import pathlib
import re
import sys
import unittest
import unittest.mock
import warnings
import weakref
from typing import Any

import numpy as np

import psbench
import psbench.initial

try:
    import torch
    from torch import nn
except ImportError as e:
    raise unittest.SkipTest(f"{sys.executable} has no torch: apt-get install python3-torch") from e

import psbench.torch
from psbench.torch.parameters import trained


def numbers(count: int, features: int) -> psbench.Batch:
    """A batch of samples with numbers."""
    return samples(np.random.default_rng(count).standard_normal((count, features), dtype=np.float32))


def samples(features: np.ndarray) -> psbench.Batch:
    return psbench.Batch(len(features), features, np.zeros(len(features), np.int64), np.empty(0, np.int64), np.empty(0, np.int64))


def bags(*lists: list[int]) -> psbench.Batch:
    """A batch of samples with bags."""
    offsets = np.cumsum([0] + [len(b) for b in lists])
    indices = np.concatenate(lists).astype(np.int64)
    return psbench.Batch(len(lists), np.empty(0, np.float32), np.zeros(len(lists), np.int64), indices, offsets)


class Bound:
    """A model whose gradient memory has old values, as in psbench."""

    def __init__(self, build: object, seed: int = 7, **options: object) -> None:
        made, *criteria = psbench.torch.parts(build, key="net", **options)
        self.model = made(None, psbench.ModelEnv(seed=seed))
        specs = self.model.parameters()
        self.names = [s.name for s in specs]
        self.values = [np.full(s.shape, np.nan, np.float32) for s in specs]
        self.gradients = [psbench.Gradient(np.full(s.shape, np.nan, np.float32),
                                           np.zeros(s.shape[0], np.int32) if s.sparse else None) for s in specs]
        self.model.bind(self.values, self.gradients)
        self.model.initialize(seed)
        self.criterion = criteria[0]() if criteria else None
        self.emitted: list[str] = []

    def backward(self, batch: psbench.Batch, up: np.ndarray | None = None) -> np.ndarray:
        """Runs forward and backward and returns the output."""
        out = self.model.forward(batch)
        self.emitted.clear()
        self.model.backward(np.ones_like(out) if up is None else up, lambda k: self.emitted.append(self.names[k]))
        return out

    def gradient(self, name: str) -> np.ndarray:
        return self.gradients[self.names.index(name)].values


def linear() -> nn.Module:
    return nn.Linear(3, 2)


def normalized() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4, 2))


class Twice(nn.Module):
    """One layer used twice, a frozen one, and one that nothing uses."""

    def __init__(self) -> None:
        super().__init__()
        self.shared = nn.Linear(3, 3)
        self.again = nn.Linear(3, 3)
        self.again.weight = self.shared.weight
        self.frozen = nn.Linear(3, 2).requires_grad_(False)
        self.unused = nn.Linear(3, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.frozen(self.again(torch.tanh(self.shared(self.shared(x)))))


class Bags(nn.Module):
    def __init__(self, sparse: bool = True) -> None:
        super().__init__()
        self.table = nn.EmbeddingBag(9, 4, mode="sum", sparse=sparse)
        self.out = nn.Linear(4, 2)

    def forward(self, indices: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return self.out(self.table(indices, offsets))


class Rows(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(9, 4, sparse=True)
        self.out = nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.table(x).flatten(1))


@dataclasses.dataclass
class Width:
    width: int = psbench.setting(5, "of the layer")


def wide(settings: Width) -> nn.Module:
    return nn.Linear(3, settings.width)


class Same(unittest.TestCase):
    def same(self, build: object, batch: psbench.Batch, *arguments: torch.Tensor, **options: object) -> Bound:
        """The gradients equal those that torch alone computes for the same module. The second pass
        overwrites those of the first."""
        bound = Bound(build, **options)
        torch.manual_seed(7)
        module = build()  # type: ignore[operator]
        out = module(*arguments)
        up = torch.randn(out.shape)
        out.backward(up)
        for _ in range(2):
            np.testing.assert_array_equal(bound.backward(batch, up.numpy()), out.detach().numpy())
            for p in trained(module):
                gradient = bound.gradients[bound.names.index(p.name)]
                want = torch.zeros_like(p.tensor) if p.tensor.grad is None else p.tensor.grad
                if p.sparse:
                    want = want.coalesce()
                    np.testing.assert_array_equal(gradient.rows, want.indices()[0].numpy())
                    want = want.values()
                np.testing.assert_allclose(gradient.values, want.numpy(), rtol=1e-6, atol=1e-7, err_msg=p.name)
            self.assertEqual(sorted(bound.emitted), sorted(bound.names))
        return bound


class Gradients(Same):
    def test_dense(self) -> None:
        batch = numbers(5, 3)
        bound = self.same(linear, batch, torch.from_numpy(batch.features))
        self.assertEqual(bound.names, ["weight", "bias"])

    def test_shared_frozen_and_unused_parameters(self) -> None:
        batch = numbers(5, 3)
        bound = self.same(Twice, batch, torch.from_numpy(batch.features))
        self.assertEqual(bound.names, ["shared.weight", "shared.bias", "again.bias", "unused.weight", "unused.bias"])
        self.assertEqual(bound.emitted[-2:], ["unused.bias", "unused.weight"], "zeros come at the end")

    def test_sparse_bags(self) -> None:
        batch = bags([3, 1, 3], [], [8, 1])
        bound = self.same(Bags, batch, torch.from_numpy(batch.indices), torch.from_numpy(batch.offsets[:-1]))
        self.assertEqual(bound.gradients[0].rows.tolist(), [1, 3, 8])

    def test_sparse_rows_of_a_matrix(self) -> None:
        batch = bags([3, 1], [8, 3])
        bound = self.same(Rows, batch, torch.from_numpy(batch.indices).view(2, 2), classes=2)
        self.assertEqual(bound.gradients[0].rows.tolist(), [1, 3, 8])

    def test_gradients_come_while_the_backward_pass_runs(self) -> None:
        order = []

        class Late(torch.autograd.Function):
            @staticmethod
            def forward(_ctx, x):  # type: ignore[no-untyped-def]
                return x.clone()

            @staticmethod
            def backward(_ctx, dy):  # type: ignore[no-untyped-def]
                order.append("between")
                return dy

        class Layers(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.first, self.last = nn.Linear(3, 3), nn.Linear(3, 2)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.last(Late.apply(self.first(x)))

        bound = Bound(Layers)
        out = bound.model.forward(numbers(4, 3))
        bound.model.backward(np.ones_like(out), lambda k: order.append(bound.names[k].split(".")[0]))
        self.assertEqual(order, ["last", "last", "between", "first", "first"])

    def test_nan_is_passed_on(self) -> None:
        bound = Bound(linear)
        self.assertTrue(np.isnan(bound.backward(samples(np.full((1, 3), np.nan, np.float32)))).all())
        self.assertTrue(np.isnan(bound.gradient("weight")).all())

    def test_a_dense_gradient_of_a_sparse_table(self) -> None:
        class Both(Rows):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return super().forward(x) + self.table.weight.sum()

        with self.assertRaisesRegex(RuntimeError, r"parameter table.weight is dense although its embedding has sparse=True"):
            Bound(Both, classes=2).backward(bags([3, 1], [8, 3]))

    def test_a_gradient_that_comes_twice(self) -> None:
        from torch.utils.checkpoint import checkpoint

        class Checked(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.layer = nn.Linear(3, 3)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                for _ in range(2):
                    x = checkpoint(self.layer, x.requires_grad_(), use_reentrant=True)
                return x

        with self.assertRaisesRegex(RuntimeError, "came twice in one backward pass"):
            Bound(Checked).backward(numbers(4, 3))


class Large(nn.Module):
    """Linear layers that are large enough to place the gradient of their weight; one is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.twice = nn.Linear(3, 1 << 15), nn.Linear(1 << 9, 1 << 9, bias=False)
        self.own, self.other = nn.Linear(1 << 9, 1 << 8), nn.Linear(1 << 9, 1 << 8)
        self.other.weight = self.own.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x).view(len(x), 64, -1)  # more than two dimensions
        x = self.twice(torch.tanh(self.twice(x)))
        return (self.own(x) * self.other(x)).flatten(1)[:, ::999]


class Placed(Same):
    def test_of_large_layers(self) -> None:
        batch = numbers(3, 3)
        bound = self.same(Large, batch, torch.from_numpy(batch.features))
        placed = {bound.names[k] for k in bound.model._gradients._placed}
        self.assertEqual(placed, {"first.weight", "twice.weight"}, "a weight of two layers is not placed")

    def test_in_the_memory_of_psbench(self) -> None:
        bound = Bound(lambda: nn.Linear(1 << 9, 1 << 8))
        copied, copy = [], torch.Tensor.copy_
        with unittest.mock.patch.object(torch.Tensor, "copy_", lambda self, other: copied.append(tuple(self.shape)) or copy(self, other)):
            bound.backward(numbers(2, 1 << 9))
        self.assertEqual(copied, [(256,)], "only the bias is copied")

    def test_gradients_that_have_gradients(self) -> None:
        class Penalty(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.layer = nn.Linear(1 << 9, 1 << 8)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                x = x.clone().requires_grad_()
                y = torch.tanh(self.layer(x))
                slope, = torch.autograd.grad(y.sum(), x, create_graph=True)
                return y[:, :2] + slope.square().sum(1, keepdim=True)

        batch = numbers(3, 1 << 9)
        self.same(Penalty, batch, torch.from_numpy(batch.features), features=1 << 9, classes=2)


class Passes(unittest.TestCase):
    def test_each_pass_begins_alike(self) -> None:
        bound = Bound(normalized, optimizer=lambda params: torch.optim.Adam(params, lr=0.1))
        runs = []
        for _ in range(2):
            bound.model.initialize(7)
            first = [v.copy() for v in bound.values]
            outs = []
            for _ in range(3):
                outs.append(bound.backward(numbers(6, 3)).copy())
                bound.model.step()
            outs.append(bound.model.evaluate(numbers(6, 3)).copy())
            runs.append(first + outs + [v.copy() for v in bound.values])
        for a, b in zip(*runs):
            np.testing.assert_array_equal(a, b)
        self.assertFalse(np.array_equal(runs[0][0], bound.values[0]), "the optimizer stepped")

    def test_the_seed_decides(self) -> None:
        a, b, c = Bound(linear, seed=7), Bound(linear, seed=7), Bound(linear, seed=8)
        np.testing.assert_array_equal(a.values[0], b.values[0])
        self.assertFalse(np.array_equal(a.values[0], c.values[0]))

    def test_parameters_are_psbench_s_memory(self) -> None:
        bound = Bound(linear)
        for value in bound.values:
            value[:] = 1
        np.testing.assert_array_equal(bound.model.forward(samples(np.ones((1, 3), np.float32))), [[4, 4]])

    def test_evaluation_changes_nothing(self) -> None:
        bound = Bound(normalized)
        first = bound.model.evaluate(numbers(1, 3)).copy()
        np.testing.assert_array_equal(bound.model.evaluate(numbers(1, 3)), first)
        bound.backward(numbers(6, 3))
        self.assertFalse(np.array_equal(bound.model.evaluate(numbers(1, 3)), first), "training moves the running mean")

    def test_a_pass_leaves_no_module_behind(self) -> None:
        bound = Bound(Bags)
        bound.backward(bags([1], [2]))
        gone = weakref.ref(bound.model._gradients)
        bound.model.initialize(7)
        gc.collect()
        self.assertIsNone(gone())

    def test_steps_of_sparse_gradients(self) -> None:
        bound = Bound(Bags, optimizer=lambda params: torch.optim.SGD(params, lr=1.0))
        bound.backward(bags([3, 1], [8]))
        table, before = bound.gradients[0], bound.values[0].copy()
        table.set_rows(2)  # as left by the reduction
        table.rows[:], table.values[:] = [0, 4], [[1] * 4, [2] * 4]
        bound.model.step()
        want = before.copy()
        want[0] -= 1
        want[4] -= 2
        np.testing.assert_array_equal(bound.values[0], want)

    def test_who_steps(self) -> None:
        steps = [psbench.torch.parts(linear, optimizer=o)[0].step is not psbench.Model.step for o in (None, torch.optim.Adam)]
        self.assertEqual(steps, [False, True])

    def test_other_parameters_with_another_seed(self) -> None:
        bound = Bound(lambda: nn.Linear(3, 2 + torch.initial_seed() % 2))
        with self.assertRaisesRegex(ValueError, "Linear has other parameters with seed 8 than with seed 7"):
            bound.model.initialize(8)


class Inputs(unittest.TestCase):
    def test_what_the_module_tells(self) -> None:
        cases = [
            (linear, {}, psbench.Inputs(features=3, classes=2, outputs=2)),
            (lambda: nn.Linear(3, 1), {}, psbench.Inputs(features=3, classes=2, outputs=1)),
            (lambda: nn.Linear(3, 4), {"classes": 3}, psbench.Inputs(features=3, classes=3, outputs=4)),
            (Bags, {}, psbench.Inputs(rows=9, classes=2, outputs=2)),
            (Rows, {"inputs": lambda b: torch.zeros(b.size, 2, dtype=torch.int64)}, psbench.Inputs(rows=9, classes=2, outputs=2)),
            (Rows, {"classes": 2}, psbench.Inputs(rows=9, classes=2, bag_length=-1)),
            (Rows, {"length": 2}, psbench.Inputs(rows=9, classes=2, outputs=2, bag_length=2)),
            (lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten()), {"features": (1, 4, 4)}, psbench.Inputs(features=16, classes=8, outputs=8)),
        ]
        for build, options, want in cases:
            with self.subTest(want):
                self.assertEqual(Bound(build, **options).model.inputs(), want)

    def test_numbers_and_bags(self) -> None:
        class Mixed(Bags):
            def forward(self, x: torch.Tensor, indices: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
                return super().forward(indices, offsets) + x.sum(1, keepdim=True)

        batch = bags([3, 1], [8])
        batch.features = np.array([[1, 2], [3, 4]], np.float32)
        a = Bound(Mixed, features=2, rows=9).model.forward(batch)
        b = Bound(Bags).model.forward(batch)
        np.testing.assert_allclose(a - b, [[3, 3], [7, 7]], atol=1e-6)

    def test_a_function_of_the_batch(self) -> None:
        for inputs in (lambda b: b.features * 2, lambda b: (b.features * 2,), lambda b: {"input": b.features * 2}):
            twice = Bound(linear, inputs=inputs).model.forward(samples(np.ones((1, 3), np.float32)))
            once = Bound(linear).model.forward(samples(np.full((1, 3), 2, np.float32)))
            np.testing.assert_array_equal(twice, once)

    def test_a_module_may_work_in_place_on_what_cannot_be_written(self) -> None:
        batch = numbers(2, 3)
        batch.features.flags.writeable = False
        before = batch.features.copy()
        Bound(lambda: nn.Sequential(nn.ReLU(inplace=True), nn.Linear(3, 2)), features=3).backward(batch)
        np.testing.assert_array_equal(batch.features, before)

    def test_settings(self) -> None:
        part = psbench.torch.parts(wide)[0]
        self.assertIs(part.Settings, Width)
        self.assertEqual(part(Width(width=6), psbench.ModelEnv()).inputs().classes, 6)
        self.assertIsNone(psbench.torch.parts(linear)[0].Settings)
        with self.assertRaisesRegex(psbench.DeclarationError, "takes width, which is not annotated with a dataclass"):
            psbench.torch.parts(lambda width: nn.Linear(3, width))

    def test_optimizers_may_take_settings(self) -> None:
        made = []
        part = psbench.torch.parts(wide, optimizer=lambda params, settings: made.append(settings) or torch.optim.SGD(params, 1))[0]
        model = part(Width(width=6), psbench.ModelEnv())
        model.bind([np.zeros(s.shape, np.float32) for s in model.parameters()], [psbench.Gradient(np.zeros(s.shape, np.float32)) for s in model.parameters()])
        model.initialize(0)
        self.assertEqual(made, [Width(width=6)])

    def test_uneven_bags_are_no_matrix(self) -> None:
        with self.assertRaisesRegex(ValueError, "the bags of a batch have from 1 to 3 indices but must be equally long"):
            Bound(Rows, classes=2).model.forward(bags([3], [8, 3, 1]))


class Mistakes(unittest.TestCase):
    def test_modules_that_are_no_models(self) -> None:
        cases = [
            (lambda: nn.Linear(3, 2).double(), "parameter weight of Linear is torch.float64 on cpu but must be torch.float32 on the cpu"),
            (lambda: nn.Linear(3, 2).requires_grad_(False), "Linear has no parameter that requires a gradient"),
            (lambda: nn.LazyLinear(2), "parameter weight of LazyLinear has no shape before its first batch"),
            (lambda: nn.Conv2d(1, 2, 3), "Conv2d does not tell what its samples are: give features="),
            (lambda: nn.Sequential(nn.Linear(3, 4), nn.Linear(3, 2)), r"Sequential cannot take a sample with numbers of shape \[3\]"),
            (lambda: "net", "build_model returned str but must return a torch.nn.Module"),
        ]
        for build, want in cases:
            with self.subTest(want), warnings.catch_warnings(), self.assertRaisesRegex((ValueError, TypeError), want):
                warnings.simplefilter("ignore")  # torch warns that lazy modules are new
                Bound(build)

    def test_outputs_that_do_not_fit(self) -> None:
        class Odd(nn.Linear):
            def __init__(self) -> None:
                super().__init__(3, 2)
                self.make = lambda y: y

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.make(super().forward(x))

        cases = [
            (lambda y: y[:1], r"Odd returned torch.float32 of shape \[1, 2\] for a batch of 4 but must return torch.float32 of shape \[4, 2\]"),
            (lambda y: y.unsqueeze(1), r"of shape \[4, 1, 2\] for a batch of 4"),
            (lambda y: y.double(), "returned torch.float64 of shape"),
            (lambda y: (y, y), "returned tuple but must return a tensor"),
            (lambda y: y.detach(), "the output of Odd depends on none of its parameters"),
        ]
        for make, want in cases:
            with self.subTest(want):
                bound = Bound(Odd)
                bound.model._module.make = make
                with self.assertRaisesRegex((ValueError, TypeError), want):
                    bound.model.forward(numbers(4, 3))

    def test_backward_before_forward(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "Linear cannot go backward before it went forward"):
            Bound(linear).model.backward(np.zeros((1, 2), np.float32), print)


class Losses(unittest.TestCase):
    def test_values_and_gradients(self) -> None:
        output, targets = np.array([[0.5, -1], [2, 0]], np.float32), np.array([1, 0])
        floats = torch.tensor([[1.0, 1.0], [0.0, 0.0]])
        for loss, wanted in ((nn.CrossEntropyLoss(), torch.tensor([1, 0])), (nn.MSELoss(), floats), (nn.BCEWithLogitsLoss(), floats),
                             (lambda y, t: (y.sum(1) * t).mean(), torch.tensor([1, 0]))):
            criterion = psbench.torch.parts(linear, key="net", loss=loss)[1]()
            y = torch.from_numpy(output.copy()).requires_grad_()
            want = loss(y, wanted)
            want.backward()
            self.assertEqual(criterion.key, "net")
            self.assertEqual(criterion.forward(output, targets), want.item())
            up = np.full((2, 2), np.nan, np.float32)
            criterion.backward(up)
            np.testing.assert_array_equal(up, y.grad.numpy())

    def test_targets_that_are_numbers(self) -> None:
        output = np.array([[0.5, -1], [2, 0]], np.float32)
        shares, numbers = np.array([[0.25, 0.75], [1, 0]], np.float32), np.array([[-3.5, 1], [20.25, 0]], np.float32)
        for loss, options, targets, kind in (
            (nn.CrossEntropyLoss(), {}, shares, "probabilities"), (nn.BCEWithLogitsLoss(), {}, shares, "shares"), (nn.MSELoss(), {}, numbers, "numbers"),
            (nn.L1Loss(), {}, numbers, "numbers"), (torch.nn.functional.mse_loss, {"targets": "numbers"}, numbers, "numbers"),
        ):
            made = psbench.torch.parts(linear, key="net", loss=loss, **options)[1]
            self.assertEqual(made.targets, kind)
            y = torch.from_numpy(output.copy()).requires_grad_()
            want = loss(y, torch.from_numpy(targets))
            want.backward()
            criterion = made()
            self.assertEqual(criterion.forward(output, targets), want.item())
            up = np.full((2, 2), np.nan, np.float32)
            criterion.backward(up)
            np.testing.assert_array_equal(up, y.grad.numpy())

    def test_a_loss_of_each_sample(self) -> None:
        with self.assertRaisesRegex(ValueError, "the loss CrossEntropyLoss gave no single number"):
            psbench.torch.parts(linear, loss=nn.CrossEntropyLoss(reduction="none"))[1]().forward(np.zeros((2, 2), np.float32), np.array([1, 0]))


class Page(unittest.TestCase):
    def test_the_plugin_of_docs_python(self) -> None:
        page = (pathlib.Path(__file__).parents[2] / "docs" / "python.md").read_text()
        section = page[page.index("## Your own torch model"):]
        names: dict[str, Any] = {"__name__": "unittest"}  # dataclasses look up names here
        exec(re.search(r"^```python\n(.*?)^```$", section, re.M | re.S).group(1), names)
        model = psbench.torch.parts(names["build_model"])[0](names["Settings"](width=8), psbench.ModelEnv())
        self.assertEqual(model.inputs(), psbench.Inputs(features=784, classes=10, outputs=10))


class Initial(unittest.TestCase):
    def test_the_stream_of_psbench(self) -> None:
        # The first values of the reference case rpc_average_dense_t2_s1 before training, computed by PyTorch.
        np.testing.assert_allclose(psbench.initial.uniform(3, 0, 2), [-0.9525396823883057, -0.9230694770812988], rtol=1e-7)


if __name__ == "__main__":
    unittest.main()
