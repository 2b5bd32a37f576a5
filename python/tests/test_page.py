"""The parts in docs/python.md can be served and work as described."""

import pathlib
import re
import unittest

import numpy as np

import psbench
from psbench.companion import plugin

from .double import Companion, Frame, dense

PAGE = (pathlib.Path(__file__).parents[2] / "docs" / "python.md").read_text()


def parts():
    """The parts in the page's section about parts, by key."""
    section = PAGE[PAGE.index("## The parts"):PAGE.index("## Examples")]
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```$", section, re.M | re.S):
        exec(block, names)
    return {c.key: c for c in names.values() if isinstance(c, type) and issubclass(c, psbench.Part)}


class PageTest(unittest.TestCase):
    def test_all_can_be_served(self):
        self.assertEqual(sorted(parts()), ["bf16", "clip", "counting", "lately", "linear", "noise", "sign", "squares", "trimmed"])
        plugin.check(list(parts().values()))

    def test_hooks(self):
        with Companion(parts()["sign"], buckets=[dense(2)]) as c:
            values = c.host.tensor(4, 0, np.float32([3, -1]))
            self.assertEqual(c.host.call(0x68), Frame(0x6B))
            self.assertEqual(values.tolist(), [1, -1])
            values[:] = [1 / 3, -1 / 3]
            self.assertEqual(c.host.call(0x70, arg=0x6B), Frame(0x71))
            self.assertEqual(values.tolist(), [1, -1])
        with Companion(parts()["counting"], buckets=[dense(2)]) as c:
            c.host.tensor(4, 0, np.float32([3, -4]))
            self.assertEqual(c.host.call(0x68, batch=1), Frame(0x69, flags=0x80, batch=1))
            gauge, series, counter, histogram = c.service._role.recorder
            self.assertEqual((list(gauge), len(list(series)), counter.value, histogram.counts), ([((1, 0), 4.0)], 1, 8, [1, 0, 0]))

    def test_a_hook_says_what_it_answers(self):
        with Companion(parts()["clip"], buckets=[dense(2)]) as c:
            asked, _ = c.host.tensor(25, 0, np.float32([3, -1, -2, 0.5, 0, 0])), c.host.tensor(27, 0, np.int64([0, 0, 0]))
            self.assertEqual(c.host.call(0x65, arg2=2), Frame(0x65, arg=0x6B))
            self.assertEqual(asked.tolist(), [1, -1, -1, 0.5, 0, 0])

    def test_servers(self):
        trimmed = parts()["trimmed"](env=psbench.ServerEnv(trainers=3))
        self.assertEqual(trimmed.combine([np.float32([1]), np.float32([100]), np.float32([3])]).tolist(), [3])
        with Companion(parts()["lately"], buckets=[dense(1)]) as c:
            values = c.host.tensor(13, 0, np.float32([2]))
            for number, want in ((1, 2), (2, 3)):
                c.host.send(0x90, arg2=number)
                self.assertEqual([c.host.next().op, c.host.next().op], [0x92, 0x91])
                self.assertEqual(values[0], want)
                values[0] = 4

    def test_a_model_and_a_criterion(self):
        linear, squares = parts()["linear"](), parts()["squares"]()
        shapes = [p.shape for p in linear.parameters()]
        linear.bind([np.ones(s, np.float32) for s in shapes], [psbench.Gradient(np.ones(s, np.float32)) for s in shapes])
        linear.initialize(1)
        batch = psbench.Batch(2, np.ones((2, 784), np.float32), np.int64([0, 1]), None, None)
        output, emitted = linear.forward(batch), []
        self.assertEqual(squares.forward(output, batch.targets), 1)
        gradient = np.empty_like(output)
        squares.backward(gradient)
        linear.backward(gradient, emitted.append)
        self.assertEqual(emitted, [1, 0])
        self.assertEqual(linear.gradients[1].values[:3].tolist(), [-1, -1, 0])

    def test_data(self):
        samples = parts()["noise"](env=psbench.DataEnv(seed=1)).load(psbench.Limits(features=3, classes=2))
        self.assertEqual((samples.features.shape, samples.features.dtype, samples.targets.shape), ((1000, 3), np.float32, (1000,)))
