"""The frames of STO1, without I/O: rpc/README.md, "Frames", has the bytes."""

from __future__ import annotations

import struct
from typing import NamedTuple

MAGIC = b"STO1"
HEADER = struct.Struct("<IQHBI")  # length, call, method, flags, deadline in milliseconds
END, ERROR, CANCEL, CREDIT, PACED = 1, 2, 4, 8, 16
MAX_MESSAGE = 33 << 20
PACED_COST = 256  # what a message of a paced stream counts beside its payload

_U32 = struct.Struct("<I")


class ProtocolError(Exception):
    """What came is no frame that a daemon sends."""


def frame(call: int, payload: bytes = b"", *, method: int = 0, flags: int = 0, deadline_ms: int = 0) -> bytes:
    return HEADER.pack(len(payload), call, method, flags, deadline_ms) + payload


def credit(call: int, size: int) -> bytes:
    return frame(call, _U32.pack(size), flags=CREDIT)


def credited(payload: bytes) -> int:
    if len(payload) != 4:
        raise ProtocolError(f"credit of {len(payload)} bytes")
    return int(_U32.unpack(payload)[0])


class Greeting(NamedTuple):
    """What a daemon says of a connection when it begins."""

    calls: int  # that may be under way
    message: int  # bytes of the largest
    window: int  # bytes of a stream of answers that come without credit
    client_window: int  # the same of a stream of requests; 0: the daemon knows no paced streams
    methods: frozenset[int]

    @classmethod
    def parse(cls, payload: bytes) -> Greeting:
        if len(payload) < 12:
            raise ProtocolError(f"a greeting of {len(payload)} bytes")
        calls, message, window = struct.unpack_from("<III", payload)
        at, methods = 12, set()
        while at + 2 <= len(payload):
            (number,) = struct.unpack_from("<H", payload, at)
            at += 2
            if number == 0:
                break
            methods.add(number)
        client_window = _U32.unpack_from(payload, at)[0] if at + 4 <= len(payload) else 0
        return cls(calls, message, window, client_window, frozenset(methods))


class Decoder:
    """Cuts what is received into frames: of each its call, its flags and its payload."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._need = HEADER.size

    @property
    def partial(self) -> bool:
        """Whether a part of a frame has come."""
        return bool(self._rest)

    def feed(self, data: bytes) -> list[tuple[int, int, bytes]]:
        if self._rest:
            self._rest += data
            if len(self._rest) < self._need:
                return []
            data = bytes(self._rest)
            self._rest.clear()
        frames, at, size = [], 0, len(data)
        self._need = HEADER.size
        while size - at >= HEADER.size:
            length, call, _, flags, _ = HEADER.unpack_from(data, at)
            if length > MAX_MESSAGE:
                raise ProtocolError(f"a frame of {length} bytes")
            end = at + HEADER.size + length
            if end > size:
                self._need = end - at
                break
            frames.append((call, flags, data[at + HEADER.size : end]))
            at = end
        self._rest += data[at:]
        return frames
