"""The messages and enums of the protocol, made of their descriptors when they are first needed.

They are in a pool of their own, so that a program may have other messages of the same names.
"""

from __future__ import annotations

import base64
import enum
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from ._protocol import FILES

_PACKAGE = "stoa.v1."
_pool = descriptor_pool.DescriptorPool()
_enums: dict[str, tuple[tuple[str, int], ...]] = {}
for _file in descriptor_pb2.FileDescriptorSet.FromString(base64.b64decode(FILES)).file:
    _pool.AddSerializedFile(_file.SerializeToString())
    for _enum in _file.enum_type:
        _enums[_enum.name] = tuple((v.name, v.number) for v in _enum.value)
del _file, _enum, FILES


def __getattr__(name: str) -> Any:
    made: Any
    if name in _enums:
        made = enum.IntEnum(name, _enums[name], module=__name__)
    else:
        try:
            made = message_factory.GetMessageClass(_pool.FindMessageTypeByName(_PACKAGE + name))
        except KeyError:
            raise AttributeError(f"the protocol has no {name}") from None
    globals()[name] = made
    return made
