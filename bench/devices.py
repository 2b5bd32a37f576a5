"""The programs that train on CUDA devices: psbench with CUDA ranks and PyTorch with CUDA tensors.

With --backend gloo, both see only the first visible card, which all ranks share.
"""
import os
from dataclasses import dataclass

from programs import Failure
from training import Ddp, PsbenchRun, TorchDdp, last_line


@dataclass(frozen=True)
class OnDevices(Ddp):
    """The default model on devices."""

    backend: str = "gloo"

    def flags(self, trainers):
        server = ["--ncudaserver", "1", "--server", "average"] if self.hook == "rpc" else ["--ncudaserver", "0"]
        backend = ["--backend", self.backend] if self.backend != OnDevices.backend else []
        return ["--ntrainer", "0", "--nserver", "0", "--ncudatrainer", str(trainers), *server, "--ddp-hook", self.hook, *backend,
                "--batch-size", str(self.batch), "--set", f"data.sample_count={self.samples}"]

    def environment(self):
        visible = os.environ.get("CUDA_VISIBLE_DEVICES") or "0"
        return {"CUDA_VISIBLE_DEVICES": visible.split(",")[0]} if self.backend == "gloo" else {}


@dataclass(frozen=True)
class PsbenchOnDevices(PsbenchRun):
    """psbench run with CUDA ranks."""

    def environment(self):
        return self.case.environment()

    def facts(self, result):
        facts = next(p["facts"] for p in result["processes"] if p["kind"] == "trainer")
        if not facts.get("engine", "").startswith("cuda:"):
            raise Failure(f"psbench's trainers computed with {facts}, not on a device")
        group = result.get("group")
        if self.case.backend == "nccl" and not str(group).startswith("NCCL"):
            raise Failure(f"psbench's trainers were in the group {group}, not in NCCL's: NCCL takes a card for each")
        return f"psbench on {facts['device']}, products by {facts['blas']}, buckets {facts['buckets']}"


@dataclass(frozen=True)
class TorchOnDevices(TorchDdp):
    """torch_cuda.py: the RPC hook, or DistributedDataParallel's own all-reduce."""

    def environment(self):
        return self.case.environment()

    def hook(self):
        return "rpc" if self.case.hook == "rpc" else "ddp"

    def command(self, settings, trainers):
        return [*settings.peer("torch_cuda.py"), "--hook", self.hook(), "--backend", self.case.backend, "--trainers", str(trainers),
                "--batch", str(self.case.batch), "--samples", str(self.case.samples), "--epochs", str(settings.epochs), "--threads", "1"]

    def read(self, stdout, settings, trainers):
        rows, _ = super().read(stdout, settings, trainers)
        line = last_line(self.name, stdout, metric="throughput", device="cuda", backend=self.case.backend)
        return rows, {"library": f"PyTorch {line['torch']} on {line['card']}"}

    def mode(self, trainers):
        return super().mode(trainers) | {"hook": self.hook()}
