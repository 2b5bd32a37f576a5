import importlib.util
import os
import pathlib
import tempfile
import unittest

import numpy as np

import psbench

from .double import Companion, dense


def example(name):
    path = pathlib.Path(__file__).parents[1] / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TopKTest(unittest.TestCase):
    def hook(self, share=0.25):
        TopK = example("topk").TopK
        return TopK(TopK.Settings(share), psbench.HookEnv(buckets=[psbench.BucketSpec(0, 4)]))

    def test_what_is_left_comes_back(self):
        hook, sent = self.hook(), []
        for _ in range(3):
            bucket = psbench.Bucket(hook.env.buckets[0], np.float32([1, -8, 3, 0]))
            self.assertIs(hook.reduce(psbench.HookState(), bucket).bucket, bucket)
            sent.append(bucket.values.tolist())
        self.assertEqual(sent, [[0, -8, 0, 0], [0, -8, 0, 0], [0, 0, 9, 0]])
        self.assertEqual(hook.left[0].tolist(), [3, -8, 0, 0])

    def test_a_pass_begins_without_what_is_left(self):
        hook = self.hook()
        bucket = psbench.Bucket(hook.env.buckets[0], np.float32([1, 2, 3, 4]))
        hook.reduce(psbench.HookState(), bucket)
        hook.reset()
        self.assertEqual(hook.left[0].tolist(), [0] * 4)

    def test_a_share_that_cannot_be(self):
        with self.assertRaisesRegex(Exception, "hook numpy_topk: setting share is 2.0 but must be above 0 and at most 1"):
            Companion(example("topk").TopK, '{"share": 2}')


class MedianTest(unittest.TestCase):
    def test_one_of_three_does_not_matter(self):
        server = example("median").Median(env=psbench.ServerEnv(trainers=3))
        self.assertEqual(server.combine([np.float32([1, 2]), np.float32([1e30, -1e30]), np.float32([3, 4])]).tolist(), [3, 2])


class NpyTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def load(self, features, targets, **limits):
        Npy = example("npy").Npy
        x, y = (os.path.join(self.folder, f"{name}.npy") for name in "xy")
        np.save(x, features), np.save(y, targets)
        return Npy(Npy.Settings(x, y, 0.25)).load(psbench.Limits(features=4, classes=2))

    def test_samples_of_files(self):
        samples = self.load(np.arange(16).reshape(4, 2, 2), np.int8([0, 1, 1, 0]))
        self.assertEqual((samples.features.dtype, samples.features.tolist()), (np.float32, np.arange(12).reshape(3, 4).tolist()))
        self.assertEqual((samples.targets.tolist(), samples.held_out.targets.tolist()), ([0, 1, 1], [0]))
        self.assertRegex(samples.held_out.origin(0, 2), "x.npy, sample 3, number 2")
        self.assertRegex(samples.origin(1, -1), "y.npy, sample 1, number 0")

    def test_targets_that_are_numbers(self):
        samples = self.load(np.zeros((4, 4)), np.float64([[0.5, -1], [2, 3], [4, 5], [6, 7]]))
        self.assertEqual((samples.targets.tolist(), samples.held_out.targets.tolist()), ([[0.5, -1], [2, 3], [4, 5]], [[6, 7]]))
        self.assertRegex(samples.origin(1, -2), "y.npy, sample 1, number 1")

    def test_truth_is_a_class(self):
        samples = self.load(np.ones((4, 4), bool), np.array([True, False, True, True]))
        self.assertEqual((samples.targets.dtype.kind, samples.targets.tolist(), samples.features.tolist()), ("i", [1, 0, 1], np.ones((3, 4)).tolist()))

    def test_files_that_do_not_fit(self):
        for features, targets, want in (
            (np.zeros((3, 5)), np.zeros(3, int), r"x.npy has 5 numbers for each sample, but the model takes 4"),
            (np.zeros((3, 4)), np.zeros(2, int), r"y.npy is int64 \[2\], but must be \[3\] or \[3, targets\], for each sample of .*x.npy"),
            (np.array(["a"]), np.zeros(3), r"x.npy is <U1 \[1\], but must be an array of numbers"),
        ):
            with self.subTest(want), self.assertRaisesRegex(ValueError, want):
                self.load(features, targets)
        Npy = example("npy").Npy
        with self.assertRaisesRegex(ValueError, "no.npy cannot be read as .npy: .*No such file"):
            Npy(Npy.Settings("no.npy")).load(psbench.Limits(features=4))


class WholeTest(unittest.TestCase):
    def test_each_is_a_plugin(self):
        for name, part in (("topk", "TopK"), ("median", "Median")):
            with Companion(getattr(example(name), part), buckets=[dense(4)]) as c:
                self.assertEqual(c.shut(), "")
