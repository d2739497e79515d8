"""Borsh, as values of the schema use it: codec/README.md. Decoding is strict, so that what was
decoded is encoded to the same bytes, and nothing is allocated for a count that can't be true."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

E = TypeVar("E", bound="Encoded")


class Malformed(ValueError):
    """Bytes that are no value of a type; it says at which byte."""

    def __init__(self, at: int, reason: str) -> None:
        super().__init__(f"byte {at}: {reason}")
        self.at, self.reason = at, reason


class Input:
    """Bytes that are decoded, and how far."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, size: int) -> bytes:
        if self.left < size:
            raise Malformed(len(self.data), f"ends where {size - self.left} bytes more are wanted")
        taken = self.data[self.at : self.at + size]
        self.at += size
        return taken


class Layout:
    """How values of a type are bytes. ``least`` is how many there are at least."""

    __slots__ = ("get", "least", "put")

    def __init__(self, put: Callable[[bytearray, Any], None], get: Callable[[Input], Any], least: int) -> None:
        self.put, self.get, self.least = put, get, least


def integer(size: int) -> Layout:
    def put(out: bytearray, value: int) -> None:
        try:
            out += value.to_bytes(size, "little")
        except OverflowError:
            raise ValueError(f"{value} is no u{8 * size}") from None

    return Layout(put, lambda source: int.from_bytes(source.take(size), "little"), size)


def fixed(size: int) -> Layout:
    def put(out: bytearray, value: bytes) -> None:
        if len(value) != size:
            raise ValueError(f"{len(value)} bytes where {size} are wanted")
        out += value

    return Layout(put, lambda source: source.take(size), size)


def _count(source: Input, least: int) -> int:
    at = source.at
    count = int.from_bytes(source.take(4), "little")
    if count * max(least, 1) > source.left:
        raise Malformed(at, f"counts {count}, which the {source.left} bytes that follow can't hold")
    return count


def vec(of: Layout) -> Layout:
    def put(out: bytearray, value: list[Any]) -> None:
        out += len(value).to_bytes(4, "little")
        for item in value:
            of.put(out, item)

    return Layout(put, lambda source: [of.get(source) for _ in range(_count(source, of.least))], 4)


def option(of: Layout) -> Layout:
    def put(out: bytearray, value: Any) -> None:
        if value is None:
            out.append(0)
        else:
            out.append(1)
            of.put(out, value)

    def get(source: Input) -> Any:
        return of.get(source) if _flag(source, "option") else None

    return Layout(put, get, 1)


def _flag(source: Input, what: str) -> bool:
    at, byte = source.at, source.take(1)[0]
    if byte > 1:
        raise Malformed(at, f"{byte} is no {what}")
    return byte == 1


def choice(of: type[enum.IntEnum]) -> Layout:
    def get(source: Input) -> enum.IntEnum:
        at, byte = source.at, source.take(1)[0]
        try:
            return of(byte)
        except ValueError:
            raise Malformed(at, f"{byte} is no {of.__name__}") from None

    return Layout(lambda out, value: out.append(of(value)), get, 1)


def _put_bytes(out: bytearray, value: bytes) -> None:
    out += len(value).to_bytes(4, "little")
    out += value


def _get_bytes(source: Input) -> bytes:
    return source.take(_count(source, 1))


def _get_text(source: Input) -> str:
    at, data = source.at, _get_bytes(source)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Malformed(at + 4, "is not UTF-8") from None


def _get_rest(source: Input) -> bytes:
    return source.take(source.left)


def _put_secret(out: bytearray, value: bytes) -> None:
    if len(value) != 32:
        raise ValueError("a secret has 32 bytes")
    _put_bytes(out, value)


def _get_secret(source: Input) -> bytes:
    at, value = source.at, _get_bytes(source)
    if len(value) != 32:
        raise Malformed(at, f"{len(value)} bytes instead of 32")
    return value


u8, u32, u64, u128 = integer(1), integer(4), integer(8), integer(16)
boolean = Layout(lambda out, value: out.append(bool(value)), lambda source: _flag(source, "bool"), 1)
data = Layout(_put_bytes, _get_bytes, 4)
text = Layout(lambda out, value: _put_bytes(out, value.encode()), _get_text, 4)
secret = Layout(_put_secret, _get_secret, 36)
raw = Layout(lambda out, value: out.extend(value), _get_rest, 0)


def bits(of: Layout, known: int) -> Layout:
    def put(out: bytearray, value: int) -> None:
        if value & ~known:
            raise ValueError(f"{value:#x} has other bits than {known:#x}")
        of.put(out, value)

    def get(source: Input) -> int:
        at, value = source.at, of.get(source)
        if value & ~known:
            raise Malformed(at, f"{value:#x} has other bits than {known:#x}")
        return int(value)

    return Layout(put, get, of.least)


def above_zero(of: Layout) -> Layout:
    def put(out: bytearray, value: int) -> None:
        if value == 0:
            raise ValueError("is 0, which is none")
        of.put(out, value)

    def get(source: Input) -> int:
        at, value = source.at, of.get(source)
        if value == 0:
            raise Malformed(at, "is 0, which is none")
        return int(value)

    return Layout(put, get, of.least)


def name(most: int) -> Layout:
    def wrong(value: str) -> bool:
        return not value or len(value.encode()) > most or "\0" in value

    def put(out: bytearray, value: str) -> None:
        if wrong(value):
            raise ValueError(f"a name has 1 to {most} bytes, and no zero")
        text.put(out, value)

    def get(source: Input) -> str:
        at, value = source.at, _get_text(source)
        if wrong(value):
            raise Malformed(at, f"is no name, which has 1 to {most} bytes, and no zero")
        return value

    return Layout(put, get, 5)


class Encoded:
    """A type of values."""

    layout: ClassVar[Layout]

    def encode(self) -> bytes:
        """The bytes of the value."""
        out = bytearray()
        type(self).layout.put(out, self)
        return bytes(out)

    @classmethod
    def decode(cls: type[E], data: bytes) -> E:
        """The value of some bytes; raises :class:`Malformed`."""
        source = Input(bytes(data))
        value: E = cls.layout.get(source)
        if source.left:
            raise Malformed(source.at, f"{source.left} bytes follow the value")
        return value


def struct(cls: type[Encoded], **fields: Layout) -> None:
    """Gives a class the layout of its fields, one after the other."""

    def put(out: bytearray, value: Any) -> None:
        for name, of in fields.items():
            try:
                of.put(out, getattr(value, name))
            except (ValueError, TypeError, AttributeError) as e:
                raise ValueError(f"{cls.__name__}.{name}: {e}") from None

    def get(source: Input) -> Any:
        return cls(*[of.get(source) for of in fields.values()])

    cls.layout = Layout(put, get, sum(of.least for of in fields.values()))


def variants(cls: type[Encoded], *of: type[Encoded]) -> None:
    """Gives a class, of which each of some is one, the layout of a number and one of them."""

    def put(out: bytearray, value: Any) -> None:
        if type(value) not in of:
            raise TypeError(f"{type(value).__name__} is no {cls.__name__}")
        out.append(of.index(type(value)))
        inner[of.index(type(value))].put(out, value)

    def get(source: Input) -> Any:
        at, byte = source.at, source.take(1)[0]
        if byte >= len(of):
            raise Malformed(at, f"{byte} is no {cls.__name__}")
        return inner[byte].get(source)

    inner = [one.layout for one in of]
    whole = Layout(put, get, 1 + min(one.least for one in inner))
    cls.layout = whole
    for one in of:
        one.layout = whole


def nested(cls: type[Encoded]) -> Layout:
    return cls.layout
