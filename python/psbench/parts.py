"""Common base of parts of all kinds."""

from __future__ import annotations

import dataclasses
import time
from typing import Any, ClassVar

from .recorder import Recorder


class DeclarationError(TypeError):
    """A wrong declaration of a part. The sentence shows the declaration and what would be right."""


@dataclasses.dataclass
class Env:
    """Every part's information about its run.

    rank: rank of the trainer or server that the part belongs to; -1 for data.
    name: name of the part's process, such as ``trainer0.hook``.
    """

    rank: int = 0
    name: str = "part"


class Part:
    """Common base of all kinds. Derive your class from Hook, Model, Criterion, Data or Server.

    A class describes itself by attributes::

        class TopK(psbench.Hook):
            key = "topk"                  # what users write: --ddp-hook topk

            @dataclasses.dataclass
            class Settings:               # may be missing
                share: float = psbench.setting(0.01, "share of the elements that travel")

    psbench creates one instance in its own process. It sets ``settings`` (an instance of Settings), ``env``
    (information about the run) and ``recorder`` (for measurements), and calls ``setup``. All methods run on
    the main thread of the process, one at a time. An exception in any of them ends the run with a sentence:
    the method and the last line of the traceback. The process's log has the whole traceback.

    A test creates an instance like psbench: ``TopK(TopK.Settings(share=0.5), psbench.HookEnv(...))``.
    """

    kind: ClassVar[str] = ""
    key: ClassVar[str] = ""
    Settings: ClassVar[type | None] = None
    Environment: ClassVar[type] = Env

    settings: Any
    env: Any
    recorder: Recorder

    _role: Any = None  # psbench's role for the part; None in tests

    def __init__(self, settings: Any = None, env: Any = None, recorder: Recorder | None = None) -> None:
        self.settings = settings if settings is not None or self.Settings is None else self.Settings()
        self.env = env if env is not None else self.Environment()
        self.recorder = recorder if recorder is not None else Recorder()
        self._connect()
        self.setup()

    def _connect(self) -> None:
        """Sets up what a kind needs before setup."""

    def setup(self) -> None:
        """Called once, when settings, env and recorder are available. Create the part's state here."""

    def reset(self) -> None:
        """Clear all state of earlier passes, so that every pass begins alike.

        It is called before each pass, including the first one. psbench clears the recorder itself.
        """

    def facts(self) -> dict[str, str]:
        """Facts to report about where and how the part runs, such as ``{"blas": "openblas"}``.

        It is called once, before training.
        """
        return {}

    def pass_facts(self) -> dict[str, str]:
        """Facts that are known only after a pass, such as ``{"rows dropped": "12 of 400"}``."""
        return {}

    def close(self) -> None:
        """End everything that the part has running or open: threads, files, processes. It is called once,
        at the end."""


def now() -> int:
    """The time in ns for recorders: CLOCK_MONOTONIC, which is the same in all processes."""
    return time.monotonic_ns()
