"""Keys of the schema: keys/README.md. Integers in keys are big endian, so that their order is that of bytes."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from ._borsh import Malformed

K = TypeVar("K", bound="Key")


class Key:
    """A type of keys, which knows its column and the type of its values."""

    column: ClassVar[int]
    prefix: ClassVar[bytes]
    value: ClassVar[Any]
    secret: ClassVar[bool]
    _parts: ClassVar[tuple[tuple[str, str, int], ...]]  # name, kind, size; 0: the rest

    def encode(self) -> bytes:
        """The bytes of the key."""
        out = bytearray(self.prefix)
        for name, kind, size in self._parts:
            given = getattr(self, name)
            try:
                out += _put(given, kind, size)
            except (ValueError, TypeError, AttributeError) as e:
                raise ValueError(f"{type(self).__name__}.{name}: {e}") from None
        return bytes(out)

    @classmethod
    def decode(cls: type[K], data: bytes) -> K:
        """The key of some bytes; raises :class:`Malformed`."""
        if not data.startswith(cls.prefix):
            raise Malformed(0, f"does not begin with {cls.prefix.hex()}")
        at, values = len(cls.prefix), []
        for _, kind, size in cls._parts:
            end = at + size if size else len(data)
            if end > len(data):
                raise Malformed(len(data), f"ends where {end - len(data)} bytes more are wanted")
            values.append(_get(data[at:end], kind, at))
            at = end
        if at < len(data):
            raise Malformed(at, f"{len(data) - at} bytes follow the key")
        return cls(*values)

    @classmethod
    def fits(cls, data: bytes) -> bool:
        """Whether bytes are of the size of such keys, and begin as they do."""
        sizes = [size for _, _, size in cls._parts]
        least = len(cls.prefix) + sum(sizes)
        return data.startswith(cls.prefix) and (len(data) >= least if 0 in sizes else len(data) == least)

    @classmethod
    def start(cls, *fields: Any) -> bytes:
        """What all keys begin with whose first fields are these: the prefix of a scan."""
        out = bytearray(cls.prefix)
        for (_, kind, size), given in zip(cls._parts, fields, strict=False):
            out += _put(given, kind, size)
        return bytes(out)


def _put(value: Any, kind: str, size: int) -> bytes:
    if kind == "integer":
        try:
            return int(value).to_bytes(size, "big")
        except OverflowError:
            raise ValueError(f"{value} does not fit in {size} bytes") from None
    if kind == "scope" and isinstance(value, bytes):  # of key-values, which begins with a zero
        if len(value) != size or value[0]:
            raise ValueError(f"a scope is a name, or {size} bytes of which the first is 0")
        return value
    if kind in ("name", "scope"):
        padded: bytes = value.encode()
        if not padded or len(padded) > size or b"\0" in padded:
            raise ValueError(f"a name has 1 to {size} bytes, and no zero")
        return padded.ljust(size, b"\0")
    if size and len(value) != size:
        raise ValueError(f"{len(value)} bytes where {size} are wanted")
    return bytes(value)


def _get(data: bytes, kind: str, at: int) -> Any:
    if kind == "integer":
        return int.from_bytes(data, "big")
    if kind == "scope" and data[:1] == b"\0":
        return data
    if kind in ("name", "scope"):
        name = data.rstrip(b"\0")
        if not name or b"\0" in name:
            raise Malformed(at, "is no name that is filled up with zeros")
        try:
            return name.decode()
        except UnicodeDecodeError:
            raise Malformed(at, "is not UTF-8") from None
    return data
