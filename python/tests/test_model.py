import contextlib
import dataclasses
import io
import struct
import unittest
import unittest.mock

import numpy as np

import psbench

from .double import HEADER as HEADERS
from .double import Companion, Frame


class Linear(psbench.Model):
    """x W plus the sum of rows of a table."""

    key = "linear"

    def parameters(self):
        return [psbench.Parameter("weight", (3, 2)), psbench.Parameter("table", (5, 2), sparse=True)]

    def inputs(self):
        return psbench.Inputs(features=3, rows=5, classes=2)

    def initialize(self, seed):
        for v in self.values:
            v[...] = seed % 100

    def forward(self, batch):
        self.batch = batch
        output = self.output(batch.size, 2)
        np.matmul(batch.features, self.values[0], out=output)
        for i in range(batch.size):
            output[i] += self.values[1][batch.bag(i)].sum(0)
        return output

    def backward(self, output_gradient, emit):
        weight, table = self.gradients
        table.set_rows(2)
        table.rows[:] = [1, 4]
        table.values[:] = output_gradient[:2]
        emit(1)
        weight.values[:] = self.batch.features.T @ output_gradient
        emit(0)


class Full(Linear):
    key = "full"

    def evaluate(self, batch):
        return self.forward(batch) * 2

    def backward_input(self, output_gradient, feature_gradient, emit):
        self.backward(output_gradient, emit)
        feature_gradient[:] = output_gradient @ self.values[0].T

    def step(self):
        self.values[1][self.gradients[1].rows] -= self.gradients[1].values


@contextlib.contextmanager
def bound(part):
    with Companion(part, model={"max_batch": 4, "threads": 2, "first_tensor": 1}) as c:
        h = c.host
        c.values = [h.tensor(1, 0, np.zeros((3, 2), np.float32)), h.tensor(1, 1, np.zeros((5, 2), np.float32))]
        c.gradients = [h.tensor(2, 0, np.zeros((3, 2), np.float32)), h.tensor(2, 1, np.zeros((3, 2), np.float32))]
        c.rows = h.tensor(3, 1, np.zeros(3, np.int32))
        h.tensor(6, 0, np.int64([0, 1, 4, 2, 2]), read_only=True)
        h.tensor(7, 0, np.int64([0, 1, 3]), read_only=True)
        h.tensor(8, 0, np.float32([[1, 2, 3], [4, 5, 6]]))  # the part could write to this memory
        h.tensor(9, 0, np.int64([0, 1]), read_only=True)
        c.output_gradient = h.tensor(11, 0, np.float32([[1, 2], [3, 4]]))
        c.feature_gradient = h.tensor(12, 0, np.zeros((2, 3), np.float32))
        assert h.call(0x80) == Frame(0x80)
        yield c


FORWARD = dict(batch=3, rows=3, arg=6, arg2=2)


class ModelTest(unittest.TestCase):
    def test_the_life_of_a_model(self):
        with bound(Linear) as c:
            h = c.host
            self.assertEqual(h.call(0x81, arg=-1), Frame(0x81))
            self.assertEqual(c.values[0][0, 0], (2**64 - 1) % 100)
            for v in c.values:
                v[...] = np.arange(v.size).reshape(v.shape)
            self.assertEqual(h.call(0x82, **FORWARD), Frame(0x82, arg=2, arg2=2))
            want = np.float32([[16, 22], [34, 49]]) + np.float32([[0, 1], [10, 12]])
            np.testing.assert_array_equal(h.announced(10).reshape(-1)[:4].reshape(2, 2), want)
            self.assertEqual(h.call(0x84), Frame(0x86, bucket=1, rows=2))
            self.assertEqual(h.next(), Frame(0x86, bucket=0))
            self.assertEqual(h.next(), Frame(0x84))
            self.assertEqual(c.rows[:2].tolist(), [1, 4])
            self.assertEqual(c.gradients[1][:2].tolist(), [[1, 2], [3, 4]])
            self.assertEqual(c.gradients[0].tolist(), [[13, 18], [17, 24], [21, 30]])
            batch = c.service._role.part.batch
            h.call(0x82, **FORWARD)
            self.assertIs(c.service._role.part.batch, batch)

    def test_gradients_of_a_bucket_come_together(self):
        class Named(Linear):
            def parameters(self):
                return [psbench.Parameter(str(k), (1,)) for k in range(4)]

            def backward(self, output_gradient, emit):
                for k in (3, 1, 2, 0):
                    emit(k)
                    sent.append([header[5] for header in HEADERS.iter_unpack(b"".join(packets))])
                    packets.clear()

        buckets = [{"elements": 2, "parameters": [{"parameter": k, "elements": 1} for k in pair]} for pair in ((3, 2), (0,))]
        packets, sent = [], []
        with Companion(Named, model={"max_batch": 4, "threads": 1}, buckets=buckets) as c:
            for k in range(4):
                c.host.tensor(1, k, np.zeros(1, np.float32)), c.host.tensor(2, k, np.zeros(1, np.float32))
            c.host.call(0x80)
            connection = c.process.link._connection
            c.process.link._connection = unittest.mock.Mock(wraps=connection, sendall=lambda b: (packets.append(b), connection.sendall(b)))
            c.service._role._output._shape, c.service._role._output._gradient = (1, 1), np.zeros((1, 1), np.float32)
            got = [c.host.call(0x84)] + [c.host.next() for _ in range(4)]
        self.assertEqual(sent, [[], [3, 1], [2], [0]])  # parameter 1 is in no bucket, so nothing waits for others
        self.assertEqual([(f.op, f.bucket) for f in got], [(0x86, 3), (0x86, 1), (0x86, 2), (0x86, 0), (0x84, 0)])

    def test_a_larger_batch_has_a_larger_output(self):
        class Constant(Linear):
            def forward(self, batch):
                return np.full((batch.size, 3), batch.size, np.float32)

        with bound(Constant) as c:
            self.assertEqual(c.host.call(0x83, arg=3, arg2=1), Frame(0x83, arg=1, arg2=3))
            c.host.tensor(9, 0, np.int64([0] * 50))
            c.host.tensor(8, 0, np.zeros((50, 3), np.float32))
            self.assertEqual(c.host.call(0x82, arg=150, arg2=50), Frame(0x82, arg=50, arg2=3))
            self.assertTrue((c.host.announced(10)[:150] == 50).all())

    def test_what_a_model_may_have_too(self):
        with bound(Full) as c:
            said = c.configured.model
            self.assertEqual((said.feature_gradient, said.steps, said.evaluates), (True, True, True))
            h = c.host
            c.values[0][...] = 1
            self.assertEqual(h.call(0x83, **FORWARD), Frame(0x83, arg=2, arg2=2))
            self.assertEqual(h.announced(10)[0], 12)
            h.call(0x85), h.next()
            self.assertEqual(h.next(), Frame(0x85))
            self.assertEqual(c.feature_gradient.tolist(), [[3, 3, 3], [7, 7, 7]])
            h.send(0x86, bucket=1, rows=1)
            self.assertEqual(h.call(0x87), Frame(0x87))
            self.assertEqual(c.values[1].tolist(), [[0, 0], [-1, -2], [0, 0], [0, 0], [0, 0]])

    def test_what_a_model_says_of_itself(self):
        with bound(Linear) as c:
            said = c.configured.model
            self.assertEqual([(p.name, list(p.shape), p.sparse) for p in said.parameters], [("weight", [3, 2], False), ("table", [5, 2], True)])
            self.assertEqual((said.inputs.features, said.inputs.rows, said.inputs.classes, said.inputs.targets), (3, 5, 2, 1))
            self.assertEqual((said.feature_gradient, said.steps, said.evaluates), (False, False, False))
            env = c.service._role.part.env
            self.assertEqual((env.max_batch, env.threads, env.first_tensor), (4, 2, 1))

    def test_a_batch_with_numbers_as_targets(self):
        seen = []

        class Sees(Linear):
            def forward(self, batch):
                seen.append(batch)
                return np.zeros((batch.size, 2), np.float32)

        with bound(Sees) as c:
            c.host.tensor(23, 0, np.float32([0.5, -1, 2, 3]))
            c.host.tensor(8, 0, np.float32(range(6)))
            c.host.call(0x82, arg=6, arg2=4, bucket=2)
            self.assertEqual((seen[0].size, seen[0].targets.tolist(), seen[0].features.shape), (2, [[0.5, -1], [2, 3]], (2, 3)))

    def test_a_batch_is_only_to_be_read(self):
        class Writing(Linear):
            def forward(self, batch):
                batch.features[0] = 1

        self.assert_fails(Writing, "model linear, forward: ValueError: assignment destination is read-only")

    def test_memory_is_there_from_bind_on(self):
        class Early(Linear):
            def setup(self):
                self.output(2, 2)

        want = "model linear, setup: RuntimeError: there is no memory of psbench yet: ask for it in bind, or later"
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaisesRegex(Exception, want), Companion(Early):
            pass

    def test_what_is_wrong_ends_the_run(self):
        class Doubles(Linear):
            def forward(self, batch):
                return np.zeros((2, 2))

        class Twice(Linear):
            def backward(self, output_gradient, emit):
                emit(0), emit(0)

        class Never(Linear):
            def backward(self, output_gradient, emit):
                emit(0)

        class Beyond(Linear):
            def backward(self, output_gradient, emit):
                emit(2)

        class Large(Linear):
            def backward(self, output_gradient, emit):
                self.gradients[1].set_rows(9)

        for part, want in (
            (Doubles, "model linear, forward: TypeError: it returns float64 [2, 2]: it must return float32 [2, columns], a row for each sample"),
            (Twice, "model linear, backward: ValueError: it emits the gradient of parameter weight twice in a backward pass: each must be emitted once, when it is complete"),
            (Never, "model linear, backward: ValueError: it ended without emitting the gradient of parameter table: each must be emitted once"),
            (Beyond, "model linear, backward: ValueError: it emits the gradient of parameter 2, but there are 2 parameters, which count from 0"),
            (Large, "model linear, backward: ValueError: a sparse gradient of 9 rows does not fit a capacity of 3 rows"),
        ):
            with self.subTest(want):
                self.assert_fails(part, want)

    def assert_fails(self, part, want):
        with contextlib.redirect_stderr(io.StringIO()), bound(part) as c:
            c.host.send(0x82, **FORWARD)
            answer = c.host.next()
            if answer.op == 0x82:
                c.host.send(0x84)
                while answer.op != 0x63:
                    answer = c.host.next()
            self.assertEqual((answer.op, answer.payload.decode()), (0x63, want))

    def test_parameters_that_cannot_be(self):
        for parameters, want in (
            (lambda self: ["weight"], r"model linear, parameters: TypeError: it gives a str where psbench.Parameter\(name, shape\) must be"),
            (lambda self: [psbench.Parameter("w", (0,))], r"model linear, parameters: ValueError: parameter w has shape \[0\]: a shape is whole numbers"),
            (lambda self: [psbench.Parameter("w", (3,), True)], r"that of a sparse parameter is \(rows, width\)"),
        ):
            with self.subTest(want), contextlib.redirect_stderr(io.StringIO()), self.assertRaisesRegex(Exception, want):
                with Companion(type("Bad", (Linear,), {"parameters": parameters})):
                    pass


class Squares(psbench.Criterion):
    key = "squares"

    @dataclasses.dataclass
    class Settings:
        scale: float = psbench.setting(1.0, "of the loss")

    def forward(self, output, targets):
        self.difference = output[:, 0] - targets
        return self.settings.scale * float((self.difference ** 2).mean())

    def backward(self, output_gradient):
        output_gradient[:, 0] = self.settings.scale * 2 * self.difference / len(self.difference)


class CriterionTest(unittest.TestCase):
    def test_the_life_of_a_criterion(self):
        with Companion(Squares, '{"scale": 2}', model={"max_batch": 4}) as c:
            c.host.tensor(10, 0, np.float32([[3], [5]]))
            c.host.tensor(9, 0, np.int64([1, 2]))
            gradient = c.host.tensor(11, 0, np.zeros((2, 1), np.float32))
            answer = c.host.call(0x78, rows=2, arg=2, arg2=1)
            self.assertEqual(struct.unpack("<d", struct.pack("<q", answer.arg)), (13.0,))
            self.assertEqual(c.host.call(0x79), Frame(0x79))
            self.assertEqual(gradient.tolist(), [[4], [6]])

    def test_targets_that_are_numbers(self):
        class Apart(psbench.Criterion):
            key, targets = "apart", "numbers"

            def forward(self, output, targets):
                assert targets.dtype == np.float32 and targets.shape == output.shape and not targets.flags.writeable
                return float(np.abs(output - targets).mean())

            def backward(self, output_gradient):
                output_gradient[:] = 0

        with contextlib.redirect_stderr(io.StringIO()), Companion(Apart) as c:
            self.assertEqual([p.targets for p in c.service.Describe(None, None).parts], ["numbers"])
            c.host.tensor(10, 0, np.float32([[3, 1], [2, 2]]))
            c.host.tensor(23, 0, np.float32([[2.5, 1], [2, -1]]))
            loss = lambda answer: struct.unpack("<d", struct.pack("<q", answer.arg))[0]
            self.assertEqual(loss(c.host.call(0x78, rows=4, bucket=2, arg=2, arg2=2)), 3.5 / 4)
            classes = c.host.tensor(9, 0, np.int64([1, 2]))  # each applies to all outputs of its row
            self.assertEqual(loss(c.host.call(0x78, rows=2, arg=2, arg2=2)), 2 / 4)
            classes[:] = [3, 2]
            self.assertEqual(loss(c.host.call(0x78, rows=2, arg=2, arg2=2)), 2 / 4)
            self.assertEqual(c.host.call(0x78, rows=2, bucket=1, arg=2, arg2=2).payload.decode(),
                             "criterion apart, forward: ValueError: the output has 2 columns but a row of the batch has 1 targets: the model must have an output for each")

    def test_a_loss_is_a_number(self):
        class Silent(Squares):
            def forward(self, output, targets):
                pass

        with contextlib.redirect_stderr(io.StringIO()), Companion(Silent) as c:
            c.host.tensor(10, 0, np.float32([[3]]))
            c.host.tensor(9, 0, np.int64([1]))
            self.assertEqual(c.host.call(0x78, rows=1, arg=1, arg2=1).payload.decode(),
                             "criterion squares, forward: TypeError: it returns a NoneType: it must return the mean loss, a float")
