"""Values of JSON under keys of a tenant, on the service Kv.

    kv = KeyValues(client, "acme")
    kv.put("config/limit", 10, ttl=3600)
    kv.get("config/limit")  # 10, or a default
    for event in kv.watch("config/"): ...
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from . import messages as m
from .errors import Error, NotFound, Unavailable

if TYPE_CHECKING:
    from .aio import Client as AsyncClient
    from .client import Client

_FIRST, _LAST = 0.05, 2.0  # seconds between attempts to go on with a watch


@dataclass(frozen=True)
class Item:
    """What a key has."""

    key: str
    value: Any
    revision: int  # of the tenant, at which it was written
    expires: float | None  # seconds since 1970


@dataclass(frozen=True)
class Event:
    """Something that a watch tells.

    ``synced``: what was there when the watch began has been told, and what follows is news.
    ``resync``: what was told may be out of date: the whole state follows, and synced.
    """

    kind: Literal["put", "delete", "expire", "synced", "resync"]
    revision: int
    item: Item | None  # of synced and resync none; without a value where nothing is left


_KINDS: dict[int, Any] = {1: "put", 2: "delete", 3: "expire", 4: "synced", 5: "resync"}


def _text(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _item(item: m.KvItem, key: str | None = None) -> Item:
    return Item(
        item.key.decode() if key is None else key,
        json.loads(item.value) if item.value else None,
        item.revision,
        item.expires_ms / 1000 if item.expires_ms else None,
    )


def _event(event: m.KvEvent) -> Event:
    return Event(_KINDS[event.kind], event.revision, _item(event.item) if event.HasField("item") else None)


def _expect(value: Any, revision: int | None) -> m.KvExpect:
    if revision is not None:
        return m.KvExpect(absent=True) if revision == 0 else m.KvExpect(revision=revision)
    return m.KvExpect(value=_text(value))


class _Watching:
    """How far a watch has come: rpc/README.md, "Watching"."""

    def __init__(self, tenant: bytes, prefix: str, after: int | None) -> None:
        self._tenant, self._prefix = tenant, prefix.encode()
        self._after = after  # None: the state comes first
        self._synced = after is not None
        self.pause = _FIRST

    def request(self) -> dict[str, Any]:
        start = {"start": 1} if self._after is None else {"start": 3, "after": self._after}
        return {"tenant": self._tenant, "prefix": self._prefix, **start}

    def told(self, event: Event) -> None:
        self.pause = _FIRST
        if event.kind == "resync":
            self._synced = False
        elif event.kind == "synced":
            self._synced = True
        if self._synced:
            self._after = event.revision

    def lost(self, failure: Error) -> float:
        """How long to wait before going on; raises what there is no going on after."""
        if not isinstance(failure, Unavailable) and failure.kind != "BUSY":
            raise failure
        if not self._synced:
            self._after = None
        pause, self.pause = self.pause, min(2 * self.pause, _LAST)
        return pause


class KeyValues:
    """The key-values of a tenant over a client that blocks.

    ``durable=False`` answers before a change is on disk: it may be lost with the power.
    """

    def __init__(self, client: Client, tenant: str = "", *, durable: bool = True) -> None:
        self._kv, self._tenant = client.kv, tenant.encode()
        self._durability = 1 if durable else 2

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key."""
        item = self.item(key)
        return default if item is None else item.value

    def item(self, key: str) -> Item | None:
        """What a key has, with its revision; None if there is nothing."""
        answer = self._kv.get(tenant=self._tenant, key=key.encode())
        return _item(answer.item, key) if answer.HasField("item") else None

    def put(self, key: str, value: Any, *, ttl: int | None = None) -> Item:
        """Stores a value, for ttl seconds if that is given, and answers its revision."""
        answer = self._kv.put(tenant=self._tenant, key=key.encode(), value=_text(value), ttl_seconds=ttl, durability=self._durability)
        return Item(key, value, answer.item.revision, answer.item.expires_ms / 1000 if answer.item.expires_ms else None)

    def delete(self, key: str) -> bool:
        """Removes what a key has, and says whether there was something."""
        return self._kv.delete(tenant=self._tenant, key=key.encode(), durability=self._durability).existed

    def increment(self, key: str, delta: int = 1, *, ttl: int | None = None) -> int:
        """Adds to an integer, 0 if there is nothing."""
        answer = self._kv.increment(tenant=self._tenant, key=key.encode(), delta=delta, ttl_seconds=ttl, durability=self._durability)
        return int(json.loads(answer.item.value))

    def swap(self, key: str, value: Any, *, old: Any = None, revision: int | None = None, ttl: int | None = None) -> bool:
        """Stores a value if the key has the old one, or that revision, 0 being nothing; False: it has not."""
        return self._kv.compare_and_swap(
            tenant=self._tenant, key=key.encode(), value=_text(value), expect=_expect(old, revision), ttl_seconds=ttl, durability=self._durability
        ).swapped  # fmt: skip

    def items(self, prefix: str = "") -> Iterator[Item]:
        """All keys that begin with a prefix, in order, of one moment."""
        for page in self._kv.scan(tenant=self._tenant, prefix=prefix.encode()):
            for item in page.items:
                yield _item(item)

    def watch(self, prefix: str = "", *, after: int | None = None) -> Generator[Event, None, None]:
        """The keys that begin with a prefix, then synced, then what changes; or what changed after a revision.

        It goes on when the daemon was away, and ends with an error for what else happens.
        """
        watching = _Watching(self._tenant, prefix, after)
        while True:
            try:
                for page in self._kv.watch(**watching.request()):
                    for told in page.events:
                        event = _event(told)
                        watching.told(event)
                        yield event
                raise NotFound("the watch has ended")
            except Error as e:
                time.sleep(watching.lost(e))


class AsyncKeyValues:
    """The key-values of a tenant over a client for asyncio; see KeyValues."""

    def __init__(self, client: AsyncClient, tenant: str = "", *, durable: bool = True) -> None:
        self._kv, self._tenant = client.kv, tenant.encode()
        self._durability = 1 if durable else 2

    async def get(self, key: str, default: Any = None) -> Any:
        """The value of a key."""
        item = await self.item(key)
        return default if item is None else item.value

    async def item(self, key: str) -> Item | None:
        """What a key has, with its revision; None if there is nothing."""
        answer = await self._kv.get(tenant=self._tenant, key=key.encode())
        return _item(answer.item, key) if answer.HasField("item") else None

    async def put(self, key: str, value: Any, *, ttl: int | None = None) -> Item:
        """Stores a value, for ttl seconds if that is given, and answers its revision."""
        answer = await self._kv.put(tenant=self._tenant, key=key.encode(), value=_text(value), ttl_seconds=ttl, durability=self._durability)
        return Item(key, value, answer.item.revision, answer.item.expires_ms / 1000 if answer.item.expires_ms else None)

    async def delete(self, key: str) -> bool:
        """Removes what a key has, and says whether there was something."""
        return (await self._kv.delete(tenant=self._tenant, key=key.encode(), durability=self._durability)).existed

    async def increment(self, key: str, delta: int = 1, *, ttl: int | None = None) -> int:
        """Adds to an integer, 0 if there is nothing."""
        answer = await self._kv.increment(tenant=self._tenant, key=key.encode(), delta=delta, ttl_seconds=ttl, durability=self._durability)
        return int(json.loads(answer.item.value))

    async def swap(self, key: str, value: Any, *, old: Any = None, revision: int | None = None, ttl: int | None = None) -> bool:
        """Stores a value if the key has the old one, or that revision, 0 being nothing; False: it has not."""
        answer = await self._kv.compare_and_swap(
            tenant=self._tenant, key=key.encode(), value=_text(value), expect=_expect(old, revision), ttl_seconds=ttl, durability=self._durability
        )  # fmt: skip
        return answer.swapped

    async def items(self, prefix: str = "") -> AsyncIterator[Item]:
        """All keys that begin with a prefix, in order, of one moment."""
        async for page in self._kv.scan(tenant=self._tenant, prefix=prefix.encode()):
            for item in page.items:
                yield _item(item)

    async def watch(self, prefix: str = "", *, after: int | None = None) -> AsyncGenerator[Event, None]:
        """The keys that begin with a prefix, then synced, then what changes; or what changed after a revision.

        It goes on when the daemon was away, and ends with an error for what else happens.
        """
        watching = _Watching(self._tenant, prefix, after)
        while True:
            try:
                async for page in self._kv.watch(**watching.request()):
                    for told in page.events:
                        event = _event(told)
                        watching.told(event)
                        yield event
                raise NotFound("the watch has ended")
            except Error as e:
                await asyncio.sleep(watching.lost(e))
