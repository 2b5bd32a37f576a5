"""What every part has, whatever its kind."""

from __future__ import annotations

import dataclasses
import time
from typing import Any, ClassVar

from .recorder import Recorder


class DeclarationError(TypeError):
    """A part is declared wrongly: the sentence says what was written and what would be right."""


@dataclasses.dataclass
class Env:
    """What every part knows of its run.

    rank: of the trainer or server that the part belongs to; -1 of data.
    name: of the part's process, such as ``trainer0.hook``.
    """

    rank: int = 0
    name: str = "part"


class Part:
    """What all kinds have in common. Derive from Hook, Model, Criterion, Data or Server.

    A class says what it is by attributes::

        class TopK(psbench.Hook):
            key = "topk"                  # what users write: --ddp-hook topk

            @dataclasses.dataclass
            class Settings:               # may be missing
                share: float = psbench.setting(0.01, "share of the elements that travel")

    psbench makes one instance in a process of its own, gives it ``settings`` (an instance of
    Settings), ``env`` (what it knows of its run) and ``recorder`` (what it measures), and calls
    ``setup``. All methods are called on the main thread of the process, one at a time. An
    exception in any of them ends the run with a sentence: the method and the last line of the
    traceback, which stands in the process's log as a whole.

    A test makes one as psbench does: ``TopK(TopK.Settings(share=0.5), psbench.HookEnv(...))``.
    """

    kind: ClassVar[str] = ""
    key: ClassVar[str] = ""
    Settings: ClassVar[type | None] = None
    Environment: ClassVar[type] = Env

    settings: Any
    env: Any
    recorder: Recorder

    _role: Any = None  # what psbench makes of the part; None in tests

    def __init__(self, settings: Any = None, env: Any = None, recorder: Recorder | None = None) -> None:
        self.settings = settings if settings is not None or self.Settings is None else self.Settings()
        self.env = env if env is not None else self.Environment()
        self.recorder = recorder if recorder is not None else Recorder()
        self._connect()
        self.setup()

    def _connect(self) -> None:
        """What a kind has before setup."""

    def setup(self) -> None:
        """Is called once, when settings, env and recorder are there: make here what the part keeps."""

    def reset(self) -> None:
        """Forget all that earlier passes left, so that every pass begins alike.

        It is called before each pass, the first one too. What the recorder holds is forgotten
        by itself.
        """

    def facts(self) -> dict[str, str]:
        """What is to be reported of where and how the part runs, such as ``{"blas": "openblas"}``.

        It is asked once, before training.
        """
        return {}

    def pass_facts(self) -> dict[str, str]:
        """Facts that are known only after a pass, such as ``{"rows dropped": "12 of 400"}``."""
        return {}

    def close(self) -> None:
        """End what the part has running: threads, files, processes. It is called once, at the end."""


def now() -> int:
    """The time in ns, as recorders take it: that of CLOCK_MONOTONIC, the same in all processes."""
    return time.monotonic_ns()
