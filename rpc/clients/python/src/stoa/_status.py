"""google.rpc.Status with a google.rpc.ErrorInfo, read by hand: three messages are not worth a dependency."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"


class Status(NamedTuple):
    code: int
    message: str
    reason: str
    metadata: dict[str, str]

    @classmethod
    def parse(cls, payload: bytes) -> Status:
        code, message, reason = 0, "", ""
        metadata: dict[str, str] = {}
        for number, value in _fields(payload):
            if number == 1 and isinstance(value, int):
                code = value
            elif number == 2 and isinstance(value, bytes):
                message = value.decode()
            elif number == 3 and isinstance(value, bytes):
                anything = dict(_fields(value))
                if anything.get(1) == _ERROR_INFO.encode() and isinstance(anything.get(2), bytes):
                    reason, metadata = _info(anything[2])  # type: ignore[arg-type]
        return cls(code, message, reason, metadata)


def _info(payload: bytes) -> tuple[str, dict[str, str]]:
    reason, metadata = "", {}
    for number, value in _fields(payload):
        if not isinstance(value, bytes):
            continue
        if number == 1:
            reason = value.decode()
        elif number == 3:
            entry = dict(_fields(value))
            metadata[_text(entry.get(1))] = _text(entry.get(2))
    return reason, metadata


def _text(value: int | bytes | None) -> str:
    return value.decode() if isinstance(value, bytes) else ""


def _fields(payload: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a protobuf message: numbers, or bytes."""
    at = 0
    while at < len(payload):
        tag, at = _uvarint(payload, at)
        kind = tag & 7
        if kind == 0:
            value, at = _uvarint(payload, at)
            yield tag >> 3, value
        elif kind == 2:
            size, at = _uvarint(payload, at)
            yield tag >> 3, payload[at : at + size]
            at += size
        else:  # fixed64 and fixed32, of which these messages have none
            at += 8 if kind == 1 else 4


def _uvarint(payload: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = payload[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
