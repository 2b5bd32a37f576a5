"""Run with: python3 -m unittest discover bench"""
import contextlib
import io
import json
import os
import random
import re
import sys
import tempfile
import time
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import harness  # noqa: E402
import measure  # noqa: E402
import report  # noqa: E402
import tables  # noqa: E402
from programs import Failure, Settings, size_flag, size_name  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20


class Statistics(unittest.TestCase):
    def test_ratio_is_of_medians_and_its_spread_of_turns(self):
        ours, theirs = {0: 1.0, 1: 2.0, 2: 4.0}, {0: 30.0, 1: 20.0, 2: 20.0}
        self.assertEqual(tables.ratio(theirs, ours), (10.0, 5.0, 30.0))

    def test_ratio_of_medians_lies_within_the_spread(self):
        rng = random.Random(1)
        for _ in range(500):
            n = rng.randint(1, 9)
            ours = {t: rng.lognormvariate(0, 1) for t in range(n)}
            theirs = {t: rng.lognormvariate(0, 1) for t in range(n)}
            r = tables.ratio(theirs, ours)
            self.assertLessEqual(r.low, r.mid * (1 + 1e-12))
            self.assertGreaterEqual(r.high, r.mid * (1 - 1e-12))

    def test_numbers(self):
        cases = [(0, "0.00"), (1, "1.00"), (12.345, "12.3"), (123.4, "123"), (999.7, "1000"), (1234.4, "1234"),
                 (-2.5, "-2.50"), (0.01234, "0.0123")]
        for value, text in cases:
            self.assertEqual(tables.number(value), text)

    def test_durations(self):
        self.assertEqual(tables.duration(tables.Spread(2, 1, 3)), "2.00 µs (1.00..3.00)")
        self.assertEqual(tables.duration(tables.Spread(2000, 900, 3000)), "2.00 ms (0.900..3.00)")

    def test_verdicts(self):
        self.assertEqual(tables.verdict(10, {0: 9, 1: 10, 2: 11}, 10, tables.at_least), "yes (2/3)")
        self.assertEqual(tables.verdict(9.99, {0: 9, 1: 9.99, 2: 11}, 10, tables.at_least), "**no** (1/3)")
        self.assertEqual(tables.verdict(0.15, {0: 0.15}, 0.15, tables.below), "**no** (0/1)")
        self.assertEqual(tables.verdict(1, {0: 1}, None, tables.at_least), "-")

    def test_loud_turns_are_marked(self):
        records = [{"trainers": 2, "turn": t, "foreign_share": s} for t, s in enumerate([0.02, 0.488, 0.1, 0.11])]
        records.append({"trainers": 4, "turn": 0, "foreign_share": 0.9})
        loud = tables.loud_turns(records, 2)
        self.assertEqual(loud, {1, 3})
        self.assertEqual(tables.verdict(10, {0: 9, 1: 10, 2: 11}, 10, tables.at_least, loud), "yes (2/3, 1 loud)")
        self.assertEqual(report.loud(records), "2 trainers: 2, 4; 4 trainers: 1")

    def test_only_common_turns_count(self):
        self.assertEqual(tables.common_turns({0: 1, 1: 2, 2: 3}, {2: 6, 1: 5}), [{1: 2, 2: 3}, {1: 5, 2: 6}])
        with self.assertRaisesRegex(Failure, "no turn"):
            tables.common_turns({0: 1}, {1: 1})

    def test_sizes(self):
        for nbytes, flag, name in [(4 * KIB, "4K", "4 KiB"), (25 * MIB, "25M", "25 MiB"), (1536, "1536", "1536 B"),
                                   (1536 * KIB, "1536K", "1536 KiB")]:
            self.assertEqual((size_flag(nbytes), size_name(nbytes)), (flag, name))


class Environment(unittest.TestCase):
    def test_kernels_are_chosen_only_where_the_cpu_has_them(self):
        with tempfile.NamedTemporaryFile("w") as f:
            for flags, core in [("fpu avx2", None), ("avx512f avx512dq avx512bw", None),
                                ("fpu avx512f avx512dq avx512bw avx512vl", "SkylakeX")]:
                f.seek(0)
                f.truncate()
                f.write(f"processor : 0\nflags : {flags}\n")
                f.flush()
                env = measure.common_environment(f.name)
                self.assertEqual(env.get("OPENBLAS_CORETYPE"), core)
                self.assertEqual(env["OPENBLAS_NUM_THREADS"], "1")

    def test_settings_of_psbench_are_not_inherited(self):
        with mock.patch.dict(os.environ, {"PSBENCH_NTRAINER": "9", "KEPT": "1"}):
            env = measure.inherited_environment()
        self.assertNotIn("PSBENCH_NTRAINER", env)
        self.assertEqual(env["KEPT"], "1")


def running(group):
    """The processes of a group that have not ended."""
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as f:
            state, _parent, pgrp = f.read().rpartition(")")[2].split()[:3]
            if int(pgrp) == group and state not in "ZX":
                found.append(pid)
    return found


class Processes(unittest.TestCase):
    def test_nothing_outlives_a_timeout(self):
        """The second child ignores SIGTERM."""
        with tempfile.TemporaryDirectory() as folder:
            pid_file = os.path.join(folder, "pid")
            script = f"echo $$ > {pid_file}; sleep 60 & (trap '' TERM; sleep 60) & wait"
            with self.assertRaisesRegex(Failure, "took longer than 0.5 s"):
                measure.execute(["sh", "-c", script], dict(os.environ), 0.5)
            with open(pid_file) as f:
                group = int(f.read())
        end = time.monotonic() + 5
        while running(group) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(running(group), [])


    def test_a_noisy_process_is_repeated(self):
        cases = [([0.0], 3, 0.0), ([0.5, 0.1], 3, 0.1), ([0.5, 0.3, 0.4], 3, 0.3), ([0.5], 1, 0.5)]
        for shares, tries, chosen in cases:
            with self.subTest(shares), mock.patch.object(measure, "run_process") as run:
                run.side_effect = [{"foreign_share": s} for s in shares]
                record = measure.run_quietly(None, Settings(out="", tries=tries, max_foreign=0.1), 2)
                self.assertEqual(record["foreign_share"], chosen)
                self.assertEqual(run.call_count, len(shares))


class Compare(harness.Compare):
    """The command line, and the works that communicate."""

    def test_programs_take_turns_and_rotate(self):
        status, _, err = self.measured("pushpull", "--processes", "3", "--trainers", "2", "--sizes", "4K")
        self.assertEqual(status, 0, err)
        with open(self.log) as f:
            self.assertEqual(f.read().split(), [
                "psbench-inplace", "psbench-copy", "psbench-inplace-one", "torch_pushpull",
                "psbench-copy", "psbench-inplace-one", "torch_pushpull", "psbench-inplace",
                "psbench-inplace-one", "torch_pushpull", "psbench-inplace", "psbench-copy"])

    def test_pushpull_table(self):
        status, out, err = self.measured("pushpull", "--processes", "3", "--trainers", "2", "--sizes", "4K,1M")
        self.assertEqual(status, 0, err)
        # ours: 10, 11, 12 us; theirs: ten times that.
        self.assertIn("psbench, p50 | TensorPipe, p50 | times faster", out)
        self.assertIn("psbench copy, p50", out)
        self.assertIn("psbench, server of one thread, p50", out)
        self.assertIn("\nGOMAXPROCS=1 ", out)
        self.assertIn("commit a3139f6", out)
        small, large, copied, _, one, _ = self.lines(out)
        self.assertEqual(small, ["2", "4 KiB", "11.0 µs (10.0..12.0)", "110 µs (100..120)", "10.0 (10.0..10.0)", "10",
                                 "yes (3/3)"])
        self.assertEqual(large[1:3], ["1 MiB", "2.82 ms (2.56..3.07)"])
        self.assertEqual(copied[-2:], ["5", "yes (3/3)"])
        self.assertEqual(one[-2:], ["-", "-"])
        self.assertIn("fewer than five", out)

    def test_records_have_everything_and_make_the_table_again(self):
        _, out, _ = self.measured("pushpull", "--place", "inplace", "--processes", "5", "--trainers", "1,2", "--sizes",
                                  "4K")
        with open(os.path.join(self.out, "pushpull.jsonl")) as f:
            records = [json.loads(line) for line in f]
        self.assertEqual(len(records), 5 * 3 * 2)
        self.assertEqual({(r["program"], r["turn"], r["trainers"]) for r in records},
                         {(p, i, t) for p in ("psbench", "psbench, server of one thread", "TensorPipe") for i in range(5) for t in (1, 2)})
        self.assertNotIn("fewer than five", out)
        status, again, _ = self.run_compare("table")
        self.assertEqual((status, again), (0, out))
        self.assertNotIn("psbench.json", os.listdir(self.out))

    def test_results_are_not_overwritten(self):
        argv = ["reduce", "--processes", "1", "--trainers", "2", "--sizes", "1M"]
        self.assertEqual(self.measured(*argv)[0], 0)
        status, out, err = self.measured(*argv)
        self.assertEqual((status, out), (1, ""))
        self.assertIn("has results already", err)

    def test_allreduce_has_two_peers_and_the_targets_of_its_mode(self):
        status, out, err = self.measured("allreduce", "--processes", "1", "--trainers", "2", "--sizes", "4K,64K,1M")
        self.assertEqual(status, 0, err)
        self.assertIn("FRESH=1 mpirun", out)
        targets = [line[5] for line in self.lines(out)]
        gloo, mpi_fresh, mpi_warm = ["8", "8", "8"], ["1", "1", "1.5"], ["1", "3", "3"]
        self.assertEqual(targets, gloo + mpi_fresh + mpi_warm)

    def test_copies_are_compared_with_the_fastest_setting(self):
        """The fake program takes longer with each start under the same name."""
        status, out, err = self.measured("copies", "--processes", "2", "--trainers", "2,4", "--sizes", "4K,64K")
        self.assertEqual(status, 0, err)
        copied, in_place, mpich = (self.lines(out)[at:at + 4] for at in (0, 4, 8))
        self.assertEqual([line[3] for line in copied], [f"Open MPI, {kib} KiB" for kib in (128, 128, 128, 128)])
        self.assertEqual([line[6] for line in copied], ["-", "1.2", "-", "1.2"])
        self.assertEqual([line[6] for line in in_place], ["1"] * 4)
        self.assertEqual([line[5] for line in mpich], ["-"] * 4)
        for command in ("FRESH=1 mpirun.openmpi", "--bind-to", "mpirun.mpich -n 2", "--place copy", "segmentsize 524288"):
            self.assertIn(command, out)

    def test_the_fastest_peer_is_that_of_the_best_median(self):
        def record(program, turn, us):
            return {"program": program, "turn": turn, "trainers": 2, "foreign_share": 0, "rows": [{"bytes": 4096, "p50_us": us}]}
        records = [record("a", 0, 9), record("a", 1, 7), record("b", 0, 5), record("b", 1, 20), record("we", 0, 4), record("we", 1, 4)]
        table = tables.FastestTable("we", ("a", "b", "absent"), lambda trainers, nbytes: 2)
        self.assertEqual([c.strip() for c in table.markdown(records).splitlines()[2].strip("|").split("|")],
                         ["2", "4 KiB", "4.00 µs (4.00..4.00)", "a", "8.00 µs (7.00..9.00)", "2.00 (1.75..2.25)", "2", "yes (1/2)"])

    def test_tcp_table_has_shares_where_there_is_a_target(self):
        status, out, err = self.measured("tcp", "--processes", "3", "--trainers", "2,4", "--sizes", "1M,4M")
        self.assertEqual(status, 0, err)
        lines = self.lines(out)
        self.assertEqual([line[:2] for line in lines], [["2", "1 MiB"], ["2", "4 MiB"], ["4", "1 MiB"], ["4", "4 MiB"],
                                                        ["2", "4 MiB"]])
        self.assertEqual(lines[-1][4:], ["65.0% (55.0%..75.0%)", "limit", "70%", "**no** (1/3)"])

    def test_reduce_table(self):
        status, out, err = self.measured("reduce", "--processes", "3", "--trainers", "4", "--sizes", "1M")
        self.assertEqual(status, 0, err)
        self.assertEqual(self.lines(out)[0][4:], ["65.0% (55.0%..75.0%)", "limit", "60%", "yes (2/3)"])

    def test_all_writes_one_file_with_the_commands(self):
        status, out, err = self.measured("all", "--processes", "1", "--trainers", "2", "--sizes", "1M", "--epochs", "1")
        self.assertEqual(status, 0, err)
        with open(os.path.join(self.out, "comparison.md")) as f:
            text = f.read()
        self.assertEqual(text, out.removesuffix("\n"))
        self.assertEqual(text.count("### "), 19)
        for command in ("comm pushpull --server average --ntrainer 2", "comm allreduce", "--transport tcp",
                        "--server average_batch", "torch_ps.py --hook rpc", "run --ntrainer 2"):
            self.assertIn(command, text)

    def test_what_goes_wrong_ends_the_comparison(self):
        cases = [
            ("void", r"voided pushpull of 4 KiB, fresh, 2 trainers: element 17 of round 3 on trainer1"),
            ("incomplete", r"did not complete: trainer1 died"),
            ("missing", r"psbench has no row of 4 KiB"),
            ("mode", r"psbench has no row of 4 KiB"),
            ("schema", r"schema psbench.comm/3 instead of psbench.comm/2"),
            ("crash", r"(?s)exit status 1 of: .*no such transport"),
            ("status", r"psbench failed; exit status 1"),
            ("peer mode", r"TensorPipe measured with fresh False instead of True"),
            ("slow", r"torch_pushpull.py .* took longer than 2 s"),
        ]
        for i, (broken, message) in enumerate(cases):
            with self.subTest(broken):
                self.out = os.path.join(self.folder, f"out{i}")
                status, out, err = self.measured("pushpull", "--place", "inplace", "--processes", "1", "--trainers",
                                                 "2", "--sizes", "4K", "--timeout", "2", broken=broken)
                self.assertEqual((status, out), (1, ""))
                self.assertRegex(err, message)

    def test_bad_command_lines(self):
        cases = [
            (["pushpull", "--sizes", "4Q"], "multiples of 4 bytes"), (["pushpull", "--sizes", "6"], "multiples of 4"),
            (["pushpull", "--trainers", "0"], "list such as 1,2,4"), (["pushpull", "--processes", "0"], "at least 1"),
            (["pushpull", "--place", "heap"], "inplace, copy"), (["allreduce", "--mode", "hot"], "fresh, warm"),
            (["pushpull", "--seconds", "-1"], "at least 0"), (["training", "--hooks", "noop"], "rpc, allreduce"),
            (["pushpull", "--max-foreign", "5"], "from 0 to 1"),
        ]
        for argv, message in cases:
            with self.subTest(argv):
                status, _, err = self.run_compare(*argv)
                self.assertEqual(status, 2)
                self.assertIn(message, err)

    def test_missing_programs_and_results(self):
        status, _, err = self.run_compare("pushpull", "--settle", "0", "--psbench", "nowhere/psbench", "--peers", "p")
        self.assertEqual(status, 1)
        self.assertIn("cannot start nowhere/psbench: No such file", err)
        self.out = os.path.join(self.folder, "empty")
        self.assertIn("has no results", self.run_compare("table")[2])


if __name__ == "__main__":
    unittest.main()
