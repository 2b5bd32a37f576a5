"""The messages of the set-up calls, built from the descriptor of sdk/proto/psbench.proto."""

from __future__ import annotations

import pathlib
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_pool = descriptor_pool.DescriptorPool()
_files = descriptor_pb2.FileDescriptorSet.FromString((pathlib.Path(__file__).parents[1] / "psbench.binpb").read_bytes())
for _file in _files.file:
    _pool.Add(_file)


def message(name: str) -> Any:
    """The message class with this name."""
    descriptor = _pool.FindMessageTypeByName("psbench.v1." + name)
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(_pool).GetPrototype(descriptor)


def methods() -> list[tuple[str, Any, Any, bool]]:
    """For each method of the service Part: name, request, reply, and whether it streams."""
    service = _pool.FindServiceByName("psbench.v1.Part")
    streams = {m.name: m.server_streaming for f in _files.file for s in f.service for m in s.method}
    return [(m.name, message(m.input_type.name), message(m.output_type.name), streams[m.name]) for m in service.methods]
