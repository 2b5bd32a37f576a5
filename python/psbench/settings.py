"""Settings of a part: a dataclass in which each field has a default and a description."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import struct
import typing
from typing import Any

from .parts import DeclarationError

JSON = dict[str, Any]


def setting(default: Any, doc: str) -> Any:
    """A field of a part's Settings, with its default and its description.

    The field's annotation is its type: ``bool``, ``int``, ``float``, ``str``, a list of these such as
    ``list[float]``, or ``dict`` for an object of any form. Users set it by its name: ``--set
    hook.share=0.1``.
    """
    if isinstance(default, (list, dict)):
        return dataclasses.field(default_factory=lambda: copy.deepcopy(default), metadata={"doc": doc})
    return dataclasses.field(default=default, metadata={"doc": doc})


def describe(part: type) -> list[tuple[str, str, str, str]]:
    """Name, type, default as JSON, and description of each setting of a part."""
    settings = declared(part)
    if settings is None:
        return []
    defaults, out = settings(), []
    for field, hint in _fields(settings):
        value = getattr(defaults, field.name)
        _check(field.name, value, hint, f"the default of setting {field.name} of {part.__name__}", DeclarationError)
        out.append((field.name, _json_type(hint), json.dumps(value), field.metadata.get("doc", "")))
    return out


def declared(part: type) -> Any:
    """The Settings of a part, None if it has none. A mistake in them raises a DeclarationError."""
    settings = getattr(part, "Settings", None)
    if settings is None:
        return None
    if not isinstance(settings, type) or not dataclasses.is_dataclass(settings):
        raise DeclarationError(f"{part.__name__}.Settings must be a dataclass: put @dataclasses.dataclass above it")
    for field, hint in _fields(settings):
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise DeclarationError(
                f'setting {field.name} of {part.__name__} has no default: write {field.name}: {_words(hint)} = psbench.setting(..., "what it is")')
        if _json_type(hint) is None:
            raise DeclarationError(
                f"setting {field.name} of {part.__name__} is a {_words(hint)}: it must be a bool, int, float, str, a list of these or a dict")
    return settings


def decode(part: type, text: bytes) -> Any:
    """The settings in a JSON object. Missing settings have their defaults.

    An unknown setting and a value of the wrong type raise a ValueError that names the setting.
    """
    settings = declared(part)
    values = json.loads(text) if text else {}
    if not isinstance(values, dict):
        raise ValueError(f"the settings must be a JSON object, not {json.dumps(values)}")
    fields = {field.name: hint for field, hint in _fields(settings)} if settings else {}
    for name in sorted(values):
        if name not in fields:
            known = f"it has {', '.join(sorted(fields))}" if fields else "it has none"
            raise ValueError(f'there is no setting "{name}" of {part.kind} {part.key}: {known}')
        values[name] = _check(name, values[name], fields[name], f"setting {name}", ValueError)
    return settings(**values) if settings else None


def _fields(settings: Any) -> list[tuple[dataclasses.Field[Any], Any]]:
    hints = typing.get_type_hints(settings)
    return [(field, hints[field.name]) for field in dataclasses.fields(settings)]


def _json_type(hint: Any) -> str | None:
    """The JSON type of a setting; None if the type is not allowed."""
    plain = {bool: "bool", int: "integer", float: "number", str: "string", list: "list", dict: "object"}
    origin = typing.get_origin(hint) or hint
    if origin is list and any(_json_type(element) is None for element in typing.get_args(hint)):
        return None
    return plain.get(origin)


def _check(name: str, value: Any, hint: Any, title: str, error: type[Exception]) -> Any:
    """The value in the field's type. Raises an error if the value is invalid."""
    typ = _json_type(hint)
    if typ == "integer" and isinstance(value, float) and value.is_integer():  # 1.0 and 1e3 are whole
        value = int(value)
    fits = {
        "bool": isinstance(value, bool),
        "integer": isinstance(value, int) and not isinstance(value, bool) and -2**63 <= value < 2**63,
        "number": isinstance(value, (int, float)) and not isinstance(value, bool),
        "string": isinstance(value, str), "list": isinstance(value, list), "object": isinstance(value, dict),
    }[typ or "object"]
    if not fits:
        wanted = {"bool": "true or false", "integer": "a whole number that fits in 64 bits", "object": "an object"}.get(typ or "", f"a {typ}")
        raise error(f"{title} is {json.dumps(value, default=repr)} but must be {wanted}")
    if typ == "list" and typing.get_args(hint):
        return [_check(name, x, typing.get_args(hint)[0], f"{title}[{i}]", error) for i, x in enumerate(value)]
    if typ == "number":
        if not _fits_float32(value):
            raise error(f"{title} is {value} but must be a number that a float32 can hold: 0, or from 1.4e-45 to 3.4e38 in size")
        return float(value)
    return value


def _fits_float32(x: int | float) -> bool:
    try:
        packed: float = struct.unpack("<f", struct.pack("<f", float(x)))[0]
    except OverflowError:
        return False
    return math.isfinite(packed) and (packed != 0 or x == 0)


def _words(hint: Any) -> str:
    return getattr(hint, "__name__", str(hint)) if not typing.get_args(hint) else str(hint)
