"""The roles of a configured process, one for each kind of part."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from ...hook import Hook
from ...parts import Part
from ..process import Process
from .role import Role

__all__ = ["Role", "described", "make"]


def described(part: type[Part]) -> dict[str, Any]:
    """A part's entries in the reply to Describe, except its settings."""
    said: dict[str, Any] = {"ranks_differ": getattr(part, "ranks_differ", False)}
    if part.kind == "model":
        said |= {"stochastic": part.stochastic, "smallest_batch": part.smallest_batch}  # type: ignore[attr-defined]
    if part.kind == "hook":
        said |= {"links": list(part.links), "answers": part.answers, "plans": plans(part)}  # type: ignore[attr-defined]
    if part.kind == "criterion":
        said["targets"] = part.targets  # type: ignore[attr-defined]
    if part.kind == "server":
        said |= {"serves": "gradients", "asynchronous": part.asynchronous, "quorum": part.quorum, "answers": part.answers}  # type: ignore[attr-defined]
    return said


def plans(hook: type[Part]) -> bool:
    """Whether a hook plans its traffic. An ordinary method plan is the author's own."""
    plan = inspect.getattr_static(hook, "plan")
    return isinstance(plan, classmethod) and plan is not inspect.getattr_static(Hook, "plan")


def make(process: Process, part: type[Part], request: Any) -> Role:
    """The role of a part. It imports only the modules of the part's kind, because a plugin must start
    quickly."""
    module = importlib.import_module("." + part.kind, __name__)
    role: Role = getattr(module, part.kind.capitalize() + "Role")(process, part, request)
    return role
