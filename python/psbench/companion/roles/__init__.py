"""What a process is once it is configured: a role for each kind of part."""

from __future__ import annotations

from typing import Any

from ...parts import Part
from ..process import Process
from .role import Role

__all__ = ["Role", "described", "make"]


def described(part: type[Part]) -> dict[str, Any]:
    """What Describe says of a part beside its settings."""
    if part.kind == "hook":
        return {"links": list(part.links)}  # type: ignore[attr-defined]
    return {}


def make(process: Process, part: type[Part], request: Any) -> Role:
    """The role of a part."""
    if part.kind == "hook":
        from .hook import HookRole

        return HookRole(process, part, request)
    raise AssertionError(part.kind)
