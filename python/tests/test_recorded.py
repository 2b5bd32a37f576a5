import json
import math
import pathlib
import unittest

import psbench
from psbench import packed

from .double import Companion
from .test_hook import Half

VECTORS = pathlib.Path(__file__).parents[2] / "internal" / "packed" / "testdata" / "vectors.json"


class PackedTest(unittest.TestCase):
    def test_the_vectors_that_go_reads_too(self):
        vectors = json.loads(VECTORS.read_text())
        self.assertGreater(len(vectors["measurements"]) + len(vectors["observations"]), 9)
        for v in vectors["measurements"]:
            self.assertEqual(packed.measurements(map(tuple, v["values"])).hex(), v["hex"], v["name"])
        for v in vectors["observations"]:
            values = [(a, b, float(value)) for a, b, value in v["values"]]
            self.assertEqual(packed.observations(values).hex(), v["hex"], v["name"])


class RecorderTest(unittest.TestCase):
    def test_what_was_recorded_is_there(self):
        r = psbench.Recorder()
        series, gauge, counter = r.series("a", "b"), r.gauge("a", "c", "%"), r.counter("a", "d", "B")
        histogram = r.histogram("a", "e", "1", [0, 10])
        series.record((1, 2), 1000, 1500)
        gauge.record((1, 2), math.inf)
        counter.add(3), counter.add(4)
        for x in (-1, 0, 1, 10, 11, math.nan):
            histogram.record(x)
        self.assertEqual(list(series), [((1, 2), 1000, 500)])
        self.assertEqual(list(gauge), [((1, 2), math.inf)])
        self.assertEqual(counter.value, 7)
        self.assertEqual((histogram.counts, histogram.nan), ([2, 2, 1], 1))
        self.assertIs(r.series("a", "b"), series)
        r.reset()
        self.assertEqual((list(series), list(gauge), counter.value, histogram.counts, histogram.nan), ([], [], 0, [0, 0, 0], 0))

    def test_what_cannot_be_recorded(self):
        r = psbench.Recorder()
        r.gauge("a", "b", "%")
        for declare, want in (
            (lambda: r.gauge("a", "b", "1"), "gauge a, b in % is recorded, and also gauge a, b in 1: give one of them another name"),
            (lambda: r.series("a", "b"), "gauge a, b in % is recorded, and also series a, b: "),
            (lambda: r.series("a,b", "c"), "type 'a,b' must be 1 to 100 letters"),
            (lambda: r.series("a", " c"), "name ' c' must be"),
            (lambda: r.series("a", "c\n"), "name 'c\\\\n' must be"),
            (lambda: r.series("a", ""), "name '' must be"),
            (lambda: r.counter("a", "x", "so many bytes"), "unit 'so many bytes' must be a short word"),
            (lambda: r.histogram("a", "x", "1", [1, 1]), "finite bounds that ascend, not"),
            (lambda: r.histogram("a", "x", "1", []), "1 to 1,000 finite bounds"),
            (lambda: r.counter("a", "n", "1").add(-1), "cannot add -1: a counter cannot shrink, so use a gauge"),
            (lambda: r.counter("a", "n", "1").add(2**53 + 1), "the sum must be at most 2\\^53"),
        ):
            with self.subTest(want), self.assertRaisesRegex(ValueError, want):
                declare()


class Recording(Half):
    def setup(self):
        self.gauge = self.recorder.gauge("t", "gauge", "%")
        self.recorder.counter("t", "counter", "B").add(5)
        self.recorder.histogram("t", "histogram", "1", [1]).record(2)
        self.recorder.series("t", "series").record((0, 1), 5, 7)

    def reset(self):
        for i in range(5000):
            self.gauge.record((i, 0), i)

    def pass_facts(self):
        return {"rows": 3}


class CollectTest(unittest.TestCase):
    def test_a_pass_is_collected_in_pieces(self):
        with Companion(Recording) as c:
            before = [p.WhichOneof("piece") for p in c.collect(0)]
            self.assertEqual(before, ["gauge", "counter", "histogram", "series", "facts", "peak_rss_bytes"][1:])
            c.reset(2)
            pieces = c.collect(2)
            self.assertEqual([p.WhichOneof("piece") for p in pieces],
                             ["gauge", "gauge", "counter", "histogram", "facts", "peak_rss_bytes"])
            self.assertEqual((pieces[0].gauge.head.type, pieces[0].gauge.head.name, pieces[0].gauge.head.unit), ("t", "gauge", "%"))
            self.assertEqual(pieces[0].gauge.observations[:4].hex(), packed.observations([(0, 0, 0.0), (1, 0, 1.0)]).hex()[:8])
            self.assertEqual((pieces[2].counter.value, list(pieces[3].histogram.counts)), (0, [0, 0]))
            self.assertEqual(dict(pieces[4].facts.values), {"rows": "3"})
            self.assertGreater(pieces[5].peak_rss_bytes, 1 << 20)
            self.assertEqual([p.WhichOneof("piece") for p in c.collect(1)], ["peak_rss_bytes"])
