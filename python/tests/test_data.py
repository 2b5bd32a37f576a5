import contextlib
import io
import unittest

import numpy as np

import psbench

from .double import Companion, Frame

F, I = np.float32, np.int64


class Given(psbench.Data):
    key = "given"

    def load(self, limits):
        self.limits = limits
        return psbench.Samples(
            features=np.arange(6, dtype=F).reshape(3, 2), targets=np.int32([0, 1, 1]),
            indices=np.int64([4, 2, 1]), offsets=np.int64([0, 1, 1, 3]), batches=[2, 1], origin=lambda s, p: f"line {s}, column {p}",
            held_out=psbench.Samples(features=np.zeros((1, 2), F), targets=np.int64([[1]])))


class DataTest(unittest.TestCase):
    def test_samples_are_loaded(self):
        with Companion(Given, batch_size=5, connect=False) as c:
            c.host.tensor(17, 0, np.int64([9, 2, 3, 1, 0, 7, 8]))
            self.assertEqual(c.host.call(0x98), Frame(0x98, arg=1))
            self.assertEqual(c.service._role.part.limits, psbench.Limits(9, 2, 3, 1, 0, (7, 8)))
            self.assertEqual(c.service._role.part.env.batch_size, 5)
            for role, dtype, want in ((18, I, [4, 2, 1]), (19, I, [0, 1, 1, 3]), (20, F, list(range(6))), (21, I, [0, 1, 1]), (22, I, [2, 1])):
                self.assertEqual(c.host.announced(role, 0, dtype).tolist(), want)
            self.assertEqual(c.host.announced(20, 1, F).tolist(), [0, 0])
            self.assertEqual(c.host.announced(21, 1, I).tolist(), [1])
            self.assertNotIn((18, 1), c.host.tensors)
            self.assertEqual(c.host.call(0x99, arg=2, arg2=-1).payload, b"line 2, column -1")
            self.assertEqual(c.host.call(0x99, bucket=1).payload, b"")
            c.connect()

    def test_targets_that_are_numbers(self):
        x = np.zeros((2, 1), F)
        for targets, held_out, width, want in (
            (np.array([0.5, -2.25]), np.int64([3]), 1, ([0.5, -2.25], [3])),
            (F([[0.1, 0.9], [1, 0]]), F([[0.5, 0.5]]), 2, ([F(0.1), F(0.9), 1, 0], [0.5, 0.5])),
        ):
            samples = psbench.Samples(features=x, targets=targets, held_out=psbench.Samples(features=x[:1], targets=held_out))
            made = type("Floats", (Given,), {"load": lambda self, limits: samples})
            with Companion(made, connect=False) as c:
                c.host.tensor(17, 0, np.int64([0, 1, 2, 1, 0]))
                self.assertEqual(c.host.call(0x98), Frame(0x98, arg=1, arg2=width))
                for index in (0, 1):
                    self.assertEqual(c.host.announced(24, index, F).tolist(), want[index])
                    self.assertNotIn((21, index), c.host.tensors)

    def test_an_origin_that_is_no_unicode(self):
        class Odd(Given):
            def load(self, limits):
                return psbench.Samples(targets=np.int64([0]), origin=lambda s, p: "\udc80.csv")

        with contextlib.redirect_stderr(io.StringIO()), Companion(Odd, connect=False) as c:
            c.host.tensor(17, 0, np.int64([0, 0, 2, 1, 0]))
            c.host.call(0x98)
            self.assertEqual(c.host.call(0x99).payload, b"\\udc80.csv")

    def test_what_is_wrong_ends_the_run(self):
        S, x, y = psbench.Samples, np.zeros((2, 3), F), np.zeros(2, I)
        for samples, want in (
            (None, "TypeError: it returns a NoneType: it must return psbench.Samples(...)"),
            (S(x.astype(float), y), "TypeError: its features are float64 [2, 3]: they must be float32 [samples, features]; astype(np.float32) converts others"),
            (S(x[0], y), "TypeError: its features are float32 [3]: they must be float32 [samples, features]; astype(np.float32) converts others"),
            (S(x, np.array(["a", "b"])), "TypeError: its targets are <U1 [2]: they must be numbers, such as int64 or float32"),
            (S(x, np.zeros((2, 1, 1), F)), "ValueError: its targets are float32 [2, 1, 1]: they must be [samples] or [samples, targets]"),
            (S(x, np.zeros((2, 2), F), held_out=S(x, y)), "ValueError: its samples and held-out samples have 2 and 1 targets each: all must have as many"),
            (S(x, [0, 1]), "TypeError: its targets are a list: they must be a numpy array"),
            (S(x, np.zeros(3, I)), "ValueError: its samples are 2 by features, 3 by targets: all must be as many"),
            (S(x), "ValueError: its samples have no targets"),
            (S(x, y, indices=y), "ValueError: its samples have indices or offsets alone: a bag needs both"),
            (S(x, y, batches=[1.5]), "TypeError: its batches are float64 [1]: they must be whole numbers, such as int64"),
            (S(x, y, held_out=(x, y)), "TypeError: its held-out samples are a tuple: they must be psbench.Samples(...)"),
            (S(x, y, held_out=S(x)), "ValueError: its held-out samples have no targets"),
        ):
            bad = type("Bad", (Given,), {"load": lambda self, limits: samples})
            with self.subTest(want), contextlib.redirect_stderr(io.StringIO()), Companion(bad, connect=False) as c:
                c.host.tensor(17, 0, np.int64([0, 3, 2, 1, 0]))
                self.assertEqual(c.host.call(0x98).payload.decode(), "data given, load: " + want)
