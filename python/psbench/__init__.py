"""Parts of psbench in Python.

A plugin is a script that declares a class for each part and ends with ``psbench.serve``::

    import psbench

    class Half(psbench.Hook):
        key = "half"
        links = ("group",)

        def reduce(self, state, bucket):
            bucket.values *= 0.5
            return self.group.average(bucket)

    if __name__ == "__main__":
        psbench.serve(Half)

The kinds are Hook, Model, Criterion, Data and Server (and SynchronousServer); help() on each class explains
what to write. The guide is docs/python.md of psbench.
"""

from __future__ import annotations

from .companion import stdout
from .criterion import Criterion, CriterionEnv
from .data import Data, DataEnv, Limits, Samples
from .exchange import Exchange
from .gradients import Bucket, BucketSpec, Gradient, Span
from .hook import Group, Hook, HookEnv, HookState, Operation, PlanEnv
from .hook import Server as ServerLink
from .model import Batch, Emit, Inputs, Model, ModelEnv, Parameter
from .parts import DeclarationError, Env, Part, now
from .recorder import Counter, Gauge, Histogram, Recorder, Series
from .server import OwnGradient, Push, Server, ServerEnv, SynchronousServer
from .settings import setting
from .traffic import Transfer, from_bfloat16, to_bfloat16

stdout.keep()

__version__ = "2.1.0"

__all__ = [
    "Batch", "Bucket", "BucketSpec", "Counter", "Criterion", "CriterionEnv", "Data", "DataEnv",
    "DeclarationError", "Emit", "Env", "Exchange", "Gauge", "Gradient", "Group", "Histogram", "Hook", "HookEnv",
    "HookState", "Inputs", "Limits", "Model", "ModelEnv", "Operation", "OwnGradient", "Parameter", "Part",
    "PlanEnv", "Push", "Recorder", "Samples", "Series", "Server", "ServerEnv", "ServerLink", "Span", "SynchronousServer",
    "Transfer", "from_bfloat16", "now", "serve", "setting", "to_bfloat16",
]


def serve(*parts: type[Part]) -> None:
    """The main function of a plugin: serves the parts, each a class, until psbench ends.

    It does not return. If a part is declared wrongly, it prints a sentence on standard error and exits with
    status 1.
    """
    from .companion import plugin  # needed only in a running plugin; imports grpc

    plugin.serve(parts)
