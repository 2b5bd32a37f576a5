"""Run with: python3 -m unittest discover bench"""
import json
import os
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))

PSBENCH, PYTHON = os.path.join(HERE, "..", "bin", "psbench"), "/usr/bin/python3"


def torch_is_there():
    return subprocess.run([PYTHON, "-c", "import torch.distributed.rpc"], capture_output=True, check=False).returncode == 0


@unittest.skipUnless(os.path.exists(PSBENCH) and torch_is_there(), "needs make build and python3-torch")
class Peers(unittest.TestCase):
    """Peers train the same as psbench: with the same data, their losses agree."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_program(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stderr[-3000:]}")
        return done.stdout

    def batches(self, **settings):
        """The batches of torch_ps.py."""
        program = ("import json, sys, types; sys.path.insert(0, sys.argv[1]); import torch_ps; "
                   "args = types.SimpleNamespace(**json.loads(sys.argv[2])); "
                   "print(json.dumps([[t.tolist() for t in b] for b in torch_ps.make_batches(args)]))")
        return json.loads(self.run_program(PYTHON, "-c", program, os.path.join(HERE, "peers"), json.dumps(settings)))

    def psbench_losses(self, batches, lr, width, layers):
        config, result = os.path.join(self.folder, "config.json"), os.path.join(self.folder, "result.json")
        sizes = {"embedding_dim": width, "dense_input_size": width, "dense_output_size": width, "dense_layers_count": layers}
        data = {"inputs": [x for b in batches for x in b[0]], "targets": [y for b in batches for y in b[1]]}
        with open(config, "w", encoding="utf-8") as f:
            json.dump({"ntrainer": 2, "nserver": 1, "server": "average", "ddp_hook": "rpc", "epochs": 3, "warmup": "none", "data": "inline",
                       "set": {"model": sizes, "data": data, "trainer": {"lr": lr}}}, f)
        self.run_program(PSBENCH, "run", "--config", config, "--quiet", "--json", result)
        with open(result, encoding="utf-8") as f:
            return json.load(f)["losses"]

    def test_torch_cuda_has_psbenchs_losses(self):
        lr, width, layers = 32, 104, 2
        batches = self.batches(max_val=100, sparsity=20, samples=100, sample_length=100, batch=10, seed=0)
        want = self.psbench_losses(batches, lr, width, layers)
        # otherwise they would agree for any training
        self.assertGreater(max(abs(v - losses[0]) for losses in want for v in losses), 1e-3)
        for hook in ("rpc", "ddp"):
            with self.subTest(hook):
                dump = os.path.join(self.folder, f"{hook}.json")
                out = self.run_program(PYTHON, os.path.join(HERE, "peers", "torch_cuda.py"), "--device", "cpu", "--hook", hook, "--epochs", "3",
                                       "--lr", str(lr), "--width", str(width), "--layers", str(layers), "--warmup-passes", "0", "--dump", dump)
                last = json.loads(out.splitlines()[-1])
                self.assertEqual((last["metric"], last["device"], last["samples"]), ("throughput", "cpu", 300))
                self.assertGreater(last["samples_per_s"], 0)
                with open(dump, encoding="utf-8") as f:
                    got = [t["losses"] for t in json.load(f)["trainers"]]
                for mine, theirs in zip(want, got, strict=True):
                    for w, g in zip(mine, theirs, strict=True):
                        self.assertAlmostEqual(g, w, delta=2e-5)


if __name__ == "__main__":
    unittest.main()
