"""Rows by the types of the schema, on the service Store: see stoa.keys and stoa.values.

    rows = Rows(client)
    role = rows.get(keys.GroupMember(group_id, identity))  # a values.GroupMemberRole, or None
    for key, value in rows.scan(keys.GroupMember, group_id): ...
    with rows.batch() as b:
        b.expect(keys.Alias(1, context_id, "home"), None)
        b.put(keys.Alias(1, context_id, "home"), values.Alias(id=context_id))
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from ._key import Key

if TYPE_CHECKING:
    from . import messages as m
    from .aio import Client as AsyncClient
    from .client import Client

K = TypeVar("K", bound=Key)


def _uvarint(n: int) -> bytes:
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def _sized(data: bytes) -> bytes:
    return _uvarint(len(data)) + data


def _entries(page: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values of a page: engine/README.md, "Bytes of a page"."""
    at = 0

    def sized() -> bytes:
        nonlocal at
        size = shift = 0
        while True:
            byte = page[at]
            size |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                break
        at += size
        return page[at - size : at]

    while at < len(page):
        key = sized()
        yield key, sized()


class Changes:
    """What a batch changes, and what it expects: engine/README.md, "Bytes of a batch"."""

    def __init__(self) -> None:
        self._changes = bytearray()
        self._count = 0
        self._expectations = bytearray()

    def _change(self, tag: int, key: Key, rest: bytes = b"") -> None:
        self._count += 1
        self._changes += bytes((tag, key.column)) + _sized(key.encode()) + rest

    def put(self, key: Key, value: Any) -> None:
        """Stores a value of the type that the key has."""
        if not isinstance(value, key.value):
            raise TypeError(f"{type(key).__name__} has values of type {key.value.__name__}, not {type(value).__name__}")
        self._change(5, key, _sized(value.encode()))

    def delete(self, key: Key) -> None:
        """Removes what the key has."""
        self._change(4, key)

    def expect(self, key: Key, value: Any) -> None:
        """Has the batch be refused (Aborted, CONFLICT) unless the key has that value; None: nothing."""
        self._expectations += bytes((value is not None, key.column)) + _sized(key.encode())
        if value is not None:
            self._expectations += _sized(value.encode())

    def request(self, *, durable: bool = True) -> dict[str, Any]:
        """The fields of Store.Apply."""
        changes = bytes(8) + self._count.to_bytes(4, "little") + bytes(self._changes) if self._count else b""
        return {"ops": changes, "expectations": bytes(self._expectations), "durability": 1 if durable else 2}


def _value(key: Key, response: m.GetResponse) -> Any:
    return key.value.decode(response.value) if response.HasField("value") else None


def _range(of: type[Key], fields: tuple[Any, ...], limit: int, reverse: bool) -> dict[str, Any]:
    return {"column": of.column, "prefix": of.start(*fields), "limit": limit, "reverse": reverse}


def _pairs(of: type[K], page: bytes) -> Iterator[tuple[K, Any]]:
    for key, value in _entries(page):
        # A column may have keys of several types: of another one are those of another size.
        if of.fits(key):
            yield of.decode(key), of.value.decode(value)


class Batch(Changes):
    """Changes that are made together when the block of a with statement ends."""

    def __init__(self, client: Client, durable: bool) -> None:
        super().__init__()
        self._client, self._durable = client, durable

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._client.store.apply(**self.request(durable=self._durable))


class Rows:
    """Rows over a client that blocks."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def get(self, key: Key) -> Any:
        """The value of a key, of the type that the key has; None if there is none."""
        return _value(key, self._client.store.get(column=key.column, key=key.encode()))

    def batch(self, *, durable: bool = True) -> Batch:
        """A batch: all of its changes are made, or none. Not durable: it may be lost with the power."""
        return Batch(self._client, durable)

    def scan(self, of: type[K], *fields: Any, limit: int = 0, reverse: bool = False) -> Iterator[tuple[K, Any]]:
        """Keys of a type whose first fields are these, in the order of their bytes, with their values."""
        for page in self._client.store.scan(**_range(of, fields, limit, reverse)):
            yield from _pairs(of, page.entries)


class AsyncBatch(Changes):
    """Changes that are made together when the block of an async with statement ends."""

    def __init__(self, client: AsyncClient, durable: bool) -> None:
        super().__init__()
        self._client, self._durable = client, durable

    async def __aenter__(self) -> AsyncBatch:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            await self._client.store.apply(**self.request(durable=self._durable))


class AsyncRows:
    """Rows over a client for asyncio."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def get(self, key: Key) -> Any:
        """The value of a key, of the type that the key has; None if there is none."""
        return _value(key, await self._client.store.get(column=key.column, key=key.encode()))

    def batch(self, *, durable: bool = True) -> AsyncBatch:
        """A batch: all of its changes are made, or none. Not durable: it may be lost with the power."""
        return AsyncBatch(self._client, durable)

    async def scan(self, of: type[K], *fields: Any, limit: int = 0, reverse: bool = False) -> AsyncIterator[tuple[K, Any]]:
        """Keys of a type whose first fields are these, in the order of their bytes, with their values."""
        async for page in self._client.store.scan(**_range(of, fields, limit, reverse)):
            for pair in _pairs(of, page.entries):
                yield pair
