"""Run with: python3 -m unittest discover bench"""
import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import harness  # noqa: E402


class Training(harness.Compare):
    """The works that train whole systems."""

    def test_training_compares_what_hooks_cost_above_noop(self):
        status, out, err = self.measured("training", "--processes", "3", "--epochs", "2")
        self.assertEqual(status, 0, err)
        lines = self.lines(out)
        self.assertEqual(lines[0], ["2", "rpc", "12.0 (11.0..13.0)", "31.0 (30.0..32.0)", "833 (769..909)",
                                    "323 (312..333)"])
        self.assertEqual([line[1] for line in lines], ["rpc", "allreduce", "noop", "rpc", "allreduce"])
        self.assertEqual(lines[3][2:], ["1.00 (1.00..1.00)", "10.0 (10.0..10.0)", "10.0% (10.0%..10.0%)", "< 15%",
                                        "yes (3/3)"])
        self.assertEqual(lines[4][-1], "**no** (0/3)")

    def test_training_without_openblas_is_refused(self):
        status, _, err = self.measured("training", "--processes", "1", broken="gonum")
        self.assertEqual(status, 1)
        self.assertIn("gonum", err)

    def test_all_of_another_mode_or_length_is_refused(self):
        cases = [
            ("ddp", "iterations", "trainers ran [9] iterations instead of 10"),
            ("ddp", "sparse", "PyTorch sparse_rpc reported nothing with metric batch_all, n 20"),
            ("hybrid", "epochs", "no time of an epoch"),
            ("memory", "segments", "had 5.0 MiB of segments over shm, less than its buckets of 10.0 MiB"),
        ]
        for work, broken, message in cases:
            with self.subTest(broken):
                self.out = os.path.join(self.folder, broken)
                hooks = ["--hooks", "sparse_rpc"] if work == "ddp" else []
                status, out, err = self.measured(work, *hooks, "--processes", "1", "--epochs", "2", broken=broken)
                self.assertEqual((status, out), (1, ""))
                self.assertIn(message, err)

    def test_ddp_has_the_same_case_on_both_sides(self):
        status, out, err = self.measured("ddp", "--processes", "3", "--epochs", "2")
        self.assertEqual(status, 0, err)
        lines = self.lines(out)
        self.assertEqual([line[1] for line in lines], ["allreduce", "rpc", "sparse_rpc, sparse", "hybrid, sparse"])
        # ours: 12, 13, 14 ms; theirs: 48, 49, 50 ms.
        self.assertEqual(lines[2][2:], ["769 (714..833)", "PyTorch sparse_rpc", "204 (200..208)", "3.77 (3.57..4.00)",
                                        "3", "yes (3/3)"])
        self.assertEqual([line[-1] for line in lines], ["**no** (0/3)", "**no** (0/3)", "yes (3/3)", "**no** (0/3)"])
        for command in ("--nserver 1 --server average --ddp-hook sparse_rpc --model DummyModelSparse",
                        "--nserver 0 --ddp-hook hybrid --model DummyModelSparse",
                        "--nserver 0 --ddp-hook allreduce --epochs",
                        "--hook hybrid --server average --sparse", "--hook rpc --server average --trainers"):
            self.assertIn(command, out)

    def test_ddp128_has_samples_enough(self):
        status, out, err = self.measured("ddp128", "--processes", "1", "--hooks", "rpc")
        self.assertEqual(status, 0, err)
        self.assertIn("--batch-size 128 --set data.sample_count=2560 --epochs 5", out)
        self.assertIn("--batch 128 --samples 2560 --epochs 5", out)
        self.assertEqual(self.lines(out)[0][6], "1.3")

    def test_cuda_compares_servers_and_groups_on_one_card(self):
        status, out, err = self.measured("cuda", "--processes", "3", "--epochs", "2")
        self.assertEqual(status, 0, err)
        # ours: 11, 12, 13 ms with a server and 13, 14, 15 in a group, then three more at batch 128; theirs: 30 and
        # 14.
        lines = self.lines(out)
        self.assertEqual([line[1] for line in lines], ["rpc", "allreduce"] * 2)
        self.assertEqual(lines[0][3:], ["PyTorch RPC hook", "323 (312..333)", "2.58 (2.46..2.73)", "1.5", "yes (3/3)"])
        self.assertEqual(lines[1][3:5] + lines[1][6:], ["PyTorch DDP over gloo", "667 (625..714)", "1", "yes (3/3)"])
        for command in ("CUDA_VISIBLE_DEVICES=0", "--ncudatrainer 2 --ncudaserver 1 --server average --ddp-hook rpc",
                        "--ncudatrainer 2 --ncudaserver 0 --ddp-hook allreduce --batch-size 128",
                        "--hook ddp --backend gloo", "psbench on GPU, products by cuBLAS 12, buckets shared on the device"):
            self.assertIn(command, out)

    def test_cuda_over_nccl_has_the_group_alone(self):
        status, out, err = self.measured("cudanccl", "--processes", "1", "--epochs", "2")
        self.assertEqual(status, 0, err)
        self.assertEqual([line[1:2] + line[3:4] for line in self.lines(out)], [["allreduce", "PyTorch DDP over nccl"]] * 2)
        self.assertIn("--ddp-hook allreduce --backend nccl", out)

    def test_cuda_without_a_device_is_refused(self):
        for work, broken, message in (
            ("cuda", "host", "not on a device"),
            ("cuda", "device", "reported nothing with metric throughput, device cuda"),
            ("cudanccl", "group", "in the group psbench's own, not in NCCL's"),
        ):
            with self.subTest(broken):
                self.out = os.path.join(self.folder, broken)
                status, out, err = self.measured(work, "--processes", "1", "--epochs", "2", broken=broken)
                self.assertEqual((status, out), (1, ""))
                self.assertIn(message, err)

    def test_step_has_as_many_threads_on_both_sides(self):
        status, out, err = self.measured("step", "--processes", "1")
        self.assertEqual(status, 0, err)
        self.assertEqual([line[1] for line in self.lines(out)], ["one thread", "two threads"] * 2)
        self.assertEqual({line[3] for line in self.lines(out)}, {"PyTorch 1", "PyTorch 2"})
        for command in ("--ddp-hook noop --set blas=native --epochs 10", "OPENBLAS_NUM_THREADS=2 ", "--threads 2",
                        "--batch-size 128 --set data.sample_count=1280 --set blas=native --epochs 3"):
            self.assertIn(command, out)

    def test_dlrm_compares_with_both_forms_of_tables(self):
        status, out, err = self.measured("dlrm", "--processes", "3")
        self.assertEqual(status, 0, err)
        # ours: 7, 8, 9 ms; theirs: 40, 41, 42 and 24, 25, 26 ms.
        forms = (["PyTorch each", "244 (238..250)", "5.12 (4.67..5.71)", "3", "yes (3/3)"],
                 ["PyTorch stack", "400 (385..417)", "3.12 (2.89..3.43)", "3", "yes (2/3)"])
        self.assertEqual(self.lines(out), [["2", f"sparse_rpc, {blas}", "1250 (1111..1429)", *form]
                                           for form in forms for blas in ("openblas", "native")])
        for command in ("--ddp-hook sparse_rpc --model DLRM --create-criterion bce --data clicks --set data.batches=10 "
                        "--batch-size 128 --epochs 20", "--hook sparse_rpc --tables each --trainers 2 --batch 128 "
                        "--samples 2560 --epochs 20", "--tables stack"):
            self.assertIn(command, out)

    def test_hybrid_compares_the_median_epoch_with_the_faster_lookup(self):
        status, out, err = self.measured("hybrid", "--processes", "3")
        self.assertEqual(status, 0, err)
        few, many, whole, _ = self.lines(out)
        # ours: 200 samples in 20, 21, 22 ms; theirs: in 0.26, 0.27, 0.28 s.
        self.assertEqual(few[2:], ["9524 (9091..10000)", "PyTorch parallel", "741 (714..769)", "12.9 (12.7..13.0)",
                                   "12", "yes (3/3)"])
        self.assertEqual((many[0], many[2], many[4]), ("8", "33333 (32000..34783)", "2667 (2581..2759)"))
        self.assertEqual(whole, ["2", "psbench", "4762 (4545..5000)"])
        for command in ("--nserver 2 --set server.embedding_dim=256 --epochs 50", "--lookup serial --epochs 50",
                        "--lookup parallel"):
            self.assertIn(command, out)

    def test_hybrid_of_a_count_that_does_not_fit(self):
        status, _, err = self.measured("hybrid", "--trainers", "3")
        self.assertEqual(status, 1)
        self.assertIn("3 servers cannot share 512 columns", err)

    def test_batchupdate_compares_updates_with_the_faster_reply(self):
        status, out, err = self.measured("batchupdate", "--processes", "3", "--trainers", "3")
        self.assertEqual(status, 0, err)
        self.assertEqual(self.lines(out), [["3", "every trainer reports", "20000 (20000..20000)", "PyTorch state",
                                            "1001 (1000..1002)", "20.0 (20.0..20.0)", "20", "**no** (1/3)"]])
        self.assertIn("--set data.batches=1000 --epochs 5", out)
        self.assertIn("--reply module --batches 5000 --warmup 1000", out)

    def test_start_is_below_a_limit(self):
        status, out, err = self.measured("start", "--processes", "3")
        self.assertEqual(status, 0, err)
        lines = self.lines(out)
        self.assertEqual([line[:2] for line in lines], [["2", "ddp rpc"], ["2", "hybrid"], ["3", "batch_update"],
                                                        ["8", "hybrid"]])
        self.assertEqual(lines[0][2:], ["500 (400..600)", "< 500", "**no** (1/3)"])

    def test_memory_is_what_remains_beside_the_data(self):
        status, out, err = self.measured("memory", "--processes", "3")
        self.assertEqual(status, 0, err)
        lines = self.lines(out)
        self.assertEqual([line[:2] for line in lines], [["2", "ddp rpc"], ["2", "ddp allreduce"], ["2", "hybrid"],
                                                        ["3", "batch_update"], ["8", "hybrid"]])
        # The larger of two trainers: 151, 152 and 153 MiB, minus 40, 18 and 4.
        self.assertEqual(lines[0][2:], ["152 (151..153)", "40.0 (40.0..40.0)", "18.0 (18.0..18.0)", "4.00 (4.00..4.00)",
                                        "90.0 (89.0..91.0)", "< 40", "**no** (0/3)"])


class Resuming(harness.Compare):
    """A measurement that was interrupted."""

    def measure_again(self, *argv):
        return self.measured("batchupdate", "--processes", "2", "--trainers", "1", "--resume", *argv)

    def test_only_what_is_missing_runs(self):
        self.assertEqual(self.measured("batchupdate", "--processes", "2", "--trainers", "1")[0], 0)
        path = os.path.join(self.out, "batchupdate.jsonl")
        with open(path) as f:
            lines = f.readlines()
        with open(path, "w") as f:
            f.write("".join(lines[:4]) + lines[4][:50])
        os.remove(self.log)
        status, out, err = self.measure_again()
        self.assertEqual(status, 0, err)
        self.assertEqual(len(self.lines(out)), 1)
        with open(self.log) as f:
            self.assertEqual(f.read().split(), ["torch-state", "psbench-batch_update"])
        with open(path) as f:
            records = [json.loads(line) for line in f]
        self.assertEqual(sorted((r["turn"], r["program"]) for r in records),
                         [(t, p) for t in (0, 1) for p in ("PyTorch module", "PyTorch state", "psbench")])

    def test_other_options_are_refused(self):
        self.assertEqual(self.measure_again("--epochs", "1")[0], 0)
        status, _, err = self.measure_again("--epochs", "2")
        self.assertEqual(status, 1)
        self.assertIn("has results of another command", err)


HOLDER = """
import json, mmap, os, sys
fd = os.memfd_create("segment")
os.ftruncate(fd, 8 << 20)
memory = mmap.mmap(fd, 8 << 20)
memory[:6 << 20] = b"x" * (6 << 20)
print(json.dumps({"pid": os.getpid()}), flush=True)
import time; time.sleep(0.3)
sys.exit(7)
"""


class Memory(unittest.TestCase):
    """Runs the real scripts that measure memory."""

    def run_script(self, name, *argv):
        done = subprocess.run([sys.executable, os.path.join(HERE, "peers", name), *argv], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=60, start_new_session=True, check=False)
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr

    def test_shared_memory_counts_the_touched_pages_of_a_segment(self):
        status, (holder, line), err = self.run_script("shared_memory.py", sys.executable, "-c", HOLDER)
        self.assertEqual((status, err), (7, ""))
        self.assertAlmostEqual(line["shared_kib"][str(holder["pid"])], 6 << 10, delta=512)

    def test_shared_memory_of_a_command_that_does_not_start(self):
        status, lines, err = self.run_script("shared_memory.py", "nowhere/psbench")
        self.assertEqual((status, lines), (1, []))
        self.assertIn("cannot start nowhere/psbench", err)

    def test_blas_memory_names_a_library_that_is_not_there(self):
        status, lines, err = self.run_script("blas_memory.py", "--library", "libnowhere.so")
        self.assertEqual((status, lines), (1, []))
        self.assertIn("libnowhere.so", err)


if __name__ == "__main__":
    unittest.main()
