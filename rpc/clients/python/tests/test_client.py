"""What a client does with a daemon that goes away, that is slow, and that has much to say."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import Daemon

import stoa
from stoa import _frames, aio, keys, messages, values
from stoa.key_values import AsyncKeyValues, Event, KeyValues
from stoa.rows import AsyncRows, Rows


def test_frames_may_be_cut_anywhere() -> None:
    sent = [(1, _frames.END, b"answer"), (2, 0, b""), (3, _frames.ERROR | _frames.END, b"x" * 300), (4, _frames.CREDIT, b"\1\0\0\0")]
    stream = b"".join(_frames.frame(call, payload, flags=flags) for call, flags, payload in sent)
    for cut in range(len(stream) + 1):
        decoder = _frames.Decoder()
        assert decoder.feed(stream[:cut]) + decoder.feed(stream[cut:]) == sent
    decoder = _frames.Decoder()
    assert [f for byte in stream for f in decoder.feed(bytes([byte]))] == sent
    with pytest.raises(_frames.ProtocolError):
        _frames.Decoder().feed(b"\xff" * 19)


def test_where_no_daemon_is(tmp_path: object) -> None:
    with stoa.Client(f"{tmp_path}/none") as client, pytest.raises(stoa.Unavailable, match="no daemon at"):
        client.admin.status()


def test_threads_share_a_client(client: stoa.Client) -> None:
    kv = KeyValues(client, "acme", durable=False)
    for i in range(50):
        kv.put(f"k{i}", i)

    def ask(worker: int) -> bool:
        return all(kv.get(f"k{(i + worker) % 50}") == (i + worker) % 50 for i in range(200))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(8)))


def test_calls_while_a_stream_has_news(client: stoa.Client) -> None:
    kv = KeyValues(client, "acme", durable=False)
    watch = kv.watch()
    assert next(watch).kind == "synced"
    for i in range(100):  # events come before, between and behind the answers
        kv.put(f"k{i}", i)
        assert kv.get(f"k{i}") == i
    told = [next(watch).item for _ in range(100)]
    assert [item.value for item in told if item] == list(range(100))
    watch.close()


def test_values_of_key_values(client: stoa.Client) -> None:
    kv = KeyValues(client, "acme")
    assert kv.get("config", "default") == "default"
    made = kv.put("config", {"limit": 10, "names": ["a", "ä"]}, ttl=60)
    assert made.expires is not None and abs(made.expires - time.time() - 60) < 30
    assert kv.get("config") == {"limit": 10, "names": ["a", "ä"]}
    item = kv.item("config")
    assert item is not None and item.revision == made.revision
    assert kv.swap("config", None, revision=made.revision)
    assert not kv.swap("config", 1, old=2)
    assert kv.item("config").value is None  # type: ignore[union-attr]
    assert kv.swap("other", 1, revision=0) and not kv.swap("other", 1, revision=0)
    assert kv.increment("n") == 1 and kv.increment("n", 41) == 42
    assert [i.key for i in kv.items()] == ["config", "n", "other"]
    assert kv.delete("n") and not kv.delete("n")
    with pytest.raises(stoa.InvalidArgument) as refused:
        kv.put("", 1)
    assert refused.value.kind == "KV_ARGUMENT" and refused.value.fields["field"] == "key"


def test_rows(client: stoa.Client) -> None:
    rows = Rows(client)
    key = keys.Alias(1, bytes(32), "home")
    assert rows.get(key) is None
    with rows.batch() as b:
        b.expect(key, None)
        b.put(key, values.Alias(b"\1" * 32))
        b.put(keys.Alias(2, b"\2" * 32, "me"), values.Alias(b"\3" * 32))
    assert rows.get(key) == values.Alias(b"\1" * 32)
    with pytest.raises(stoa.Aborted) as refused, rows.batch() as b:
        b.expect(key, None)
        b.delete(key)
    assert refused.value.kind == "CONFLICT"
    assert [k.name for k, _ in rows.scan(keys.Alias)] == ["home", "me"]
    assert [k.name for k, _ in rows.scan(keys.Alias, 2)] == ["me"]
    assert [k.name for k, _ in rows.scan(keys.Alias, reverse=True, limit=1)] == ["me"]
    with rows.batch(durable=False) as b:
        b.delete(key)
    assert rows.get(key) is None
    with pytest.raises(TypeError), rows.batch() as b:
        b.put(key, values.GroupAlias("home"))


def test_a_large_blob_goes_both_ways(client: stoa.Client) -> None:
    data = bytes(range(256)) * 20_000

    def pieces() -> Iterator[messages.BlobPutRequest]:
        yield messages.BlobPutRequest(header=messages.BlobPutHeader())
        for at in range(0, len(data), 100_000):
            yield messages.BlobPutRequest(data=data[at : at + 100_000])

    stored = client.blob.put(pieces())
    got = b"".join(answer.data for answer in client.blob.get(blob_id=stored.info.blob_id))
    assert got == data


def test_a_stream_that_is_left_early_is_given_up(client: stoa.Client) -> None:
    kv = KeyValues(client, "acme", durable=False)
    for i in range(2000):
        kv.put(f"k{i}", "x" * 1000)
    for _ in range(20):
        for page in client.kv.scan(tenant=b"acme"):
            assert page.items
            break
    assert sum(1 for _ in kv.items()) == 2000


def test_a_call_that_takes_too_long(client: stoa.Client) -> None:
    begun = time.monotonic()
    watch = client.kv.watch(tenant=b"acme", start=messages.KvWatchStart.KV_WATCH_START_NOW, timeout=0.2)
    with pytest.raises(stoa.DeadlineExceeded):
        list(watch)
    assert time.monotonic() - begun < 60


def test_a_client_connects_again(daemon: Daemon) -> None:
    with stoa.Client(daemon.socket) as client:
        assert client.admin.status().engine == "mem"
        daemon.stop()
        with pytest.raises(stoa.Unavailable):
            client.admin.status()
        daemon.start()
        assert client.admin.status().engine == "mem"


def test_a_watch_goes_on() -> None:
    daemon = Daemon("rocks")
    daemon.start()
    told: list[Event] = []
    lost = threading.Event()

    def watch(client: stoa.Client) -> None:
        for event in KeyValues(client, "acme").watch():
            told.append(event)
            if event.kind == "synced" and sum(e.kind == "synced" for e in told) == 1:
                lost.set()
            if event.item is not None and event.item.key == "last":
                return

    with contextlib.closing(daemon), stoa.Client(daemon.socket) as client, stoa.Client(daemon.socket) as other:
        KeyValues(other, "acme").put("first", 1)
        thread = threading.Thread(target=watch, args=(client,))
        thread.start()
        assert lost.wait(60)
        daemon.stop()
        daemon.start()
        KeyValues(other, "acme").put("last", 2)
        thread.join(60)
        assert not thread.is_alive()
    assert [(e.kind, e.item.key) for e in told if e.item] == [("put", "first"), ("put", "last")]


def test_asyncio(daemon: Daemon) -> None:
    async def run() -> None:
        async with aio.Client(daemon.socket) as client:
            kv, rows = AsyncKeyValues(client, "acme", durable=False), AsyncRows(client)
            await asyncio.gather(*(kv.put(f"k{i}", i) for i in range(200)))
            assert [i.value async for i in kv.items("k19")] == [19, 190, 191, 192, 193, 194, 195, 196, 197, 198, 199]
            assert await kv.increment("n") == 1 and await kv.swap("n", 5, old=1) and await kv.get("n") == 5 and await kv.delete("n")
            key = keys.Alias(1, bytes(32), "home")
            async with rows.batch() as b:
                b.put(key, values.Alias(b"\1" * 32))
            assert await rows.get(key) == values.Alias(b"\1" * 32)
            assert [k async for k, _ in rows.scan(keys.Alias, 1)] == [key]

            async def first() -> Event:
                async for event in kv.watch("w", after=None):
                    if event.kind == "put":
                        return event
                raise AssertionError

            watching = asyncio.create_task(first())
            await asyncio.sleep(0)
            await kv.put("w", "news")
            assert (await asyncio.wait_for(watching, 60)).item.value == "news"  # type: ignore[union-attr]

            async def never() -> None:
                async for _ in client.kv.watch(tenant=b"acme", start=2):
                    raise AssertionError

            call = asyncio.create_task(never())
            await asyncio.sleep(0)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            data = bytes(3_000_000)
            pieces = [messages.BlobPutRequest(header=messages.BlobPutHeader())]
            pieces += [messages.BlobPutRequest(data=data[at : at + 100_000]) for at in range(0, len(data), 100_000)]
            stored = await client.blob.put(pieces)
            assert b"".join([a.data async for a in client.blob.get(blob_id=stored.info.blob_id)]) == data

    asyncio.run(run())
