"""Common code of all roles."""

from __future__ import annotations

from typing import Any

from ...gradients import BucketSpec, Span
from ...parts import Part
from ...recorder import Recorder
from ...settings import decode
from ..faults import Fault, last_line, print_traceback
from ..process import Process


class Role:
    """A part in its process. Everything except facts runs on the main thread."""

    def __init__(self, process: Process, part: type[Part], request: Any) -> None:
        self.process = process
        self.memory = process.memory
        self.recorder = Recorder()
        self.title = process.title = f"{part.kind} {part.key}"
        self.part: Part | None = None
        self._class, self._request = part, request
        try:
            self._settings = decode(part, request.part.settings)
        except (TypeError, ValueError) as error:  # also errors of the author's __post_init__
            raise Fault(f"{self.title}: {error}") from error

    def configure(self, reply: Any) -> None:
        """Creates the part if its kind is created at Configure, and describes it in the reply."""

    def plan(self, buckets: Any) -> list[dict[str, Any]]:
        """Plans the traffic of a hook for the buckets of a message."""
        raise Fault(f"{self.title} plans no traffic")

    def connect(self, links: Any) -> None:
        """Creates the part if its kind is created at Connect. The link exists by then."""

    def make(self, **env: Any) -> Any:
        """Creates the part in an environment of its kind."""
        request = self._request
        known = self._class.Environment(rank=request.rank, name=request.name, **env)
        part = self._class.__new__(self._class)
        part._role = self
        self.call("setup", lambda: part.__init__(self._settings, known, self.recorder))  # type: ignore[misc]
        self.part = part
        return part

    def call(self, method: str, what: Any) -> Any:
        """Calls a method of the part outside of frames. Its errors name part and method."""
        try:
            return what()
        except BaseException as error:  # includes sys.exit
            print_traceback(error)
            raise Fault(f"{self.title}, {method}: {last_line(error)}") from error

    def reset(self) -> None:
        """Begins a pass."""
        self.recorder.reset()
        if self.part is not None:
            self.call("reset", self.part.reset)

    def facts(self) -> dict[str, str]:
        """Facts of the part."""
        return self._texts("facts", self.part.facts) if self.part else {}

    def pass_facts(self) -> dict[str, str]:
        """Facts of the part after a pass."""
        return self._texts("pass_facts", self.part.pass_facts) if self.part else {}

    def close(self) -> None:
        """Closes the part, once."""
        part, self.part = self.part, None
        if part is not None:
            self.call("close", part.close)

    def _texts(self, method: str, of: Any) -> dict[str, str]:
        facts = self.call(method, of)
        if not isinstance(facts, dict):
            raise Fault(f"{self.title}, {method}: it gives a {type(facts).__name__} instead of a dict of texts")
        return {str(name): str(value) for name, value in facts.items()}


def bucket_specs(buckets: Any) -> tuple[BucketSpec, ...]:
    """The buckets of a message."""
    return tuple(
        BucketSpec(index, b.elements, b.sparse, b.table_rows, b.width, b.capacity, tuple(Span(s.parameter, s.offset, s.elements) for s in b.parameters))
        for index, b in enumerate(buckets))
