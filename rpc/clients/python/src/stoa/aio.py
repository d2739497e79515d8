"""A client for asyncio. The tasks of one event loop share one."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, cast

from . import _frames
from ._calls import Call, Calls
from ._method import Method
from .errors import DeadlineExceeded, Error, ResourceExhausted, Unavailable
from .services import AsyncServices

_Call = Call[asyncio.Future[None]]

_GRACE = 5.0  # seconds for which a daemon may be late with saying that a call took too long


class _Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self.calls: Calls[asyncio.Future[None]] = Calls()
        self.failure: Error | None = None
        self.greeted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._writable = asyncio.Event()
        self._writable.set()
        self._transport: asyncio.Transport | None = None

    @property
    def greeting(self) -> _frames.Greeting:
        assert self.calls.greeting is not None
        return self.calls.greeting

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(_frames.MAGIC)

    def data_received(self, data: bytes) -> None:
        try:
            woken = self.calls.receive(data)
        except (Error, _frames.ProtocolError) as e:
            return self.fail(e if isinstance(e, Error) else Unavailable(str(e)))
        if self.calls.greeting is not None and not self.greeted.done():
            self.greeted.set_result(None)
        self._wake(woken)

    def connection_lost(self, exc: Exception | None) -> None:
        self.fail(Unavailable("the daemon has hung up" if exc is None else f"the connection is lost: {exc}"))

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _wake(self, calls: Iterable[_Call]) -> None:
        for call in calls:
            for waiter in call.waiters:
                if not waiter.done():
                    waiter.set_result(None)

    def fail(self, failure: Error) -> None:
        if self.failure is None:
            self.failure = failure
        self._writable.set()
        self._wake(self.calls.fail(failure))
        if not self.greeted.done():
            self.greeted.set_exception(failure)
        if self._transport is not None:
            self._transport.abort()

    def open(self) -> _Call:
        if self.failure is not None:
            raise self.failure
        return self.calls.open()

    def write(self, data: bytes) -> None:
        if self.failure is None and self._transport is not None:
            self._transport.write(data)

    async def drained(self) -> None:
        """Returns when what was written is on its way, nearly."""
        if not self._writable.is_set():
            await self._writable.wait()

    async def news(self, call: _Call, until: float | None) -> None:
        """Returns when a call has news."""
        while not call.news:
            await self.wait(call, until)

    async def wait(self, call: _Call, until: float | None) -> None:
        """Returns when something has come for a call: news, or credit."""
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        call.waiters.append(waiter)
        late = None if until is None else loop.call_later(max(0.0, until - time.monotonic()), self._late, call)
        try:
            await waiter
        finally:
            call.waiters.remove(waiter)
            if late is not None:
                late.cancel()

    def _late(self, call: _Call) -> None:
        if not call.news:
            self.fail(DeadlineExceeded("the daemon does not answer"))


class Client(AsyncServices):
    """A connection to a daemon, made when it is first needed, and again when it was lost.

    ``path`` is its socket. A call takes at most ``timeout`` seconds unless it says otherwise;
    streams take what they take. A call that is refused since the daemon is busy was not
    begun, and is made again until its time is over. A task that is cancelled cancels its call.
    """

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = 60.0) -> None:
        self.path = os.fspath(path)
        self.timeout = timeout
        self._connection: _Connection | None = None
        self._connecting: asyncio.Lock | None = None
        super().__init__(self)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends all calls, and the connection."""
        if self._connection is not None:
            self._connection.fail(Unavailable("the client is closed"))
            self._connection = None

    async def _connected(self) -> _Connection:
        connection = self._connection
        if connection is not None and connection.failure is None:
            return connection
        if self._connecting is None:
            self._connecting = asyncio.Lock()
        async with self._connecting:
            connection = self._connection
            if connection is None or connection.failure is not None:
                connection = await self._connect()
                self._connection = connection
            return connection

    async def _connect(self) -> _Connection:
        try:
            _, connection = await asyncio.get_running_loop().create_unix_connection(_Connection, self.path)
        except OSError as e:
            raise Unavailable(f"no daemon at {self.path}: {e.strerror or e}") from e
        try:
            await asyncio.wait_for(connection.greeted, self.timeout)
        except asyncio.TimeoutError:
            connection.fail(Unavailable(f"the daemon at {self.path} does not answer"))
            raise Unavailable(f"the daemon at {self.path} does not answer") from None
        return connection

    def _unary(self, method: Method) -> Callable[..., Awaitable[Any]]:
        parse, message, number = method.response.FromString, method.message, method.number

        async def call(request: Any = None, /, *, timeout: float | None = None, **fields: Any) -> Any:
            payload = message(request, fields)
            seconds = self.timeout if timeout is None else timeout
            until, pause = time.monotonic() + seconds, 0.001
            while True:
                try:
                    return parse(await self._once(number, payload, seconds, until + _GRACE))
                except ResourceExhausted as e:
                    if e.kind != "BUSY" or time.monotonic() + pause >= until:
                        raise
                await asyncio.sleep(pause * random.uniform(0.5, 1.0))
                pause, seconds = min(2 * pause, 0.1), max(until - time.monotonic(), 0.001)

        return call

    async def _once(self, number: int, payload: bytes, seconds: float, until: float) -> bytes:
        connection = await self._connected()
        call = connection.open()
        connection.write(_frames.frame(call.id, payload, method=number, flags=_frames.END, deadline_ms=max(1, int(seconds * 1000))))
        try:
            await connection.drained()
            await connection.news(call, until)
        except BaseException:
            connection.write(_frames.frame(call.id, flags=_frames.CANCEL))
            raise
        if call.failure is not None:
            raise call.failure
        return call.messages.popleft() if call.messages else b""

    def _server_stream(self, method: Method) -> Callable[..., AsyncIterator[Any]]:
        async def call(request: Any = None, /, *, timeout: float | None = None, **fields: Any) -> AsyncIterator[Any]:
            payload = method.message(request, fields)
            stream = Stream(self, method, timeout)
            await stream._begin(payload, _frames.END)
            try:
                async for answer in stream:
                    yield answer
            finally:
                await stream.close()

        return call

    def _both_streams(self, method: Method) -> Callable[..., Stream]:
        def call(*, timeout: float | None = None) -> Stream:
            return Stream(self, method, timeout)

        return call

    def _client_stream(self, method: Method) -> Callable[..., Awaitable[Any]]:
        async def call(requests: Iterable[Any] | AsyncIterable[Any], /, *, timeout: float | None = None) -> Any:
            async with Stream(self, method, timeout) as stream:
                async for request in _each(requests):
                    if stream.ended:
                        break
                    await stream.send(request)
                await stream.end()
                answers = [answer async for answer in stream]
                return answers[0] if answers else method.response()

        return call


async def _each(items: Iterable[Any] | AsyncIterable[Any]) -> AsyncIterator[Any]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


class Stream:
    """A call of many messages. Iterate over it for what the daemon answers, and close it."""

    def __init__(self, client: Client, method: Method, timeout: float | None) -> None:
        self._client, self._method = client, method
        self._deadline = 0 if timeout is None else max(1, int(timeout * 1000))
        self._until = None if timeout is None else time.monotonic() + timeout + _GRACE
        self._connection: _Connection | None = None
        self._call: _Call | None = None
        self._finished = False

    @property
    def ended(self) -> bool:
        """Whether the daemon has ended it; there may be answers left."""
        return self._call is not None and self._call.ended

    async def _begin(self, payload: bytes, flags: int) -> None:
        connection = await self._client._connected()
        self._connection, self._call = connection, connection.open()
        self._finished = bool(flags & _frames.END)
        if not self._finished and connection.greeting.client_window > 0:
            flags |= _frames.PACED
            self._call.credit -= len(payload) + _frames.PACED_COST
        connection.write(_frames.frame(self._call.id, payload, method=self._method.number, flags=flags, deadline_ms=self._deadline))
        await connection.drained()

    async def send(self, request: Any) -> None:
        """Sends a message. It waits while the daemon has not taken those before."""
        payload = request.SerializeToString()
        if self._call is None or self._connection is None:
            return await self._begin(payload, 0)
        call, connection = self._call, self._connection
        if connection.greeting.client_window > 0:
            while call.credit <= 0 and not call.ended:
                await connection.wait(call, self._until)
            call.credit -= len(payload) + _frames.PACED_COST
        if not call.ended:
            connection.write(_frames.frame(call.id, payload))
            await connection.drained()

    async def end(self) -> None:
        """Says that no more messages follow."""
        if self._call is None or self._connection is None:
            return await self._begin(b"", _frames.END)
        if not self._finished and not self._call.ended:
            self._finished = True
            self._connection.write(_frames.frame(self._call.id, flags=_frames.END))

    async def __aiter__(self) -> AsyncIterator[Any]:
        if self._call is None or self._connection is None:
            raise RuntimeError(f"{self._method.name} begins with a message, or its end")
        call, connection, parse = self._call, self._connection, self._method.response.FromString
        while True:
            await connection.news(call, self._until)
            while call.messages:
                payload = call.messages.popleft()
                call.taken += len(payload)
                if call.taken >= connection.greeting.window // 2 and not call.ended:
                    connection.write(_frames.credit(call.id, call.taken))
                    call.taken = 0
                yield parse(payload)
            if call.ended and not call.messages:
                if call.failure is not None:
                    raise call.failure
                return

    async def close(self) -> None:
        """Gives the call up, if it has not ended."""
        if self._call is not None and self._connection is not None:
            if not self._call.ended:
                self._connection.write(_frames.frame(self._call.id, flags=_frames.CANCEL))
            self._call.messages.clear()

    async def __aenter__(self) -> Stream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
