"""A client that blocks. Any number of threads may share one."""

from __future__ import annotations

import contextlib
import os
import random
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, TypeVar

from . import _frames
from ._calls import Call, Calls
from ._method import Method
from .errors import DeadlineExceeded, Error, ResourceExhausted, Unavailable
from .services import Services

T = TypeVar("T")
_Call = Call[threading.Event]

_RECEIVE = 64 << 10
_HEADER_SIZE, _pack, _unpack = _frames.HEADER.size, _frames.HEADER.pack, _frames.HEADER.unpack_from
_TICK = struct.pack("ll", 1, 0)  # how often who waits looks at the clock
_IDLE = 0.02  # seconds after which a connection is looked at before it is used
_LOOKS = 15 if (os.cpu_count() or 1) > 1 else 0  # for an answer, before a call sleeps: each takes about a microsecond
_GRACE = 5.0  # seconds for which a daemon may be late with saying that a call took too long


class _NotSent(Unavailable):
    """The daemon has not got the whole of a frame, and so has not begun what it asks for."""


class _Connection:
    """A socket, on which whoever waits for an answer reads, for all others too."""

    def __init__(self, path: str, timeout: float) -> None:
        self._calls: Calls[threading.Event] = Calls()
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.settimeout(timeout)
            self._socket.connect(path)
            self._socket.sendall(_frames.MAGIC)
            while self._calls.greeting is None:
                data = self._socket.recv(_RECEIVE)
                if not data:
                    raise Unavailable(f"the daemon at {path} hangs up: it may not let this user in")
                self._calls.receive(data)
            self._socket.settimeout(None)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _TICK)
        except OSError as e:
            self._socket.close()
            raise Unavailable(f"no daemon at {path}: {e.strerror or e}") from e
        except BaseException:
            self._socket.close()
            raise
        self.greeting = self._calls.greeting
        self.failure: Error | None = None
        self._sending = threading.Lock()
        self._reading = threading.Lock()
        self._waiting: set[threading.Event] = set()
        self._heard = time.monotonic()
        self._opening = threading.Lock()

    def open(self) -> _Call:
        with self._opening:
            if self.failure is not None:
                raise self.failure
            return self._calls.open()

    def send(self, data: bytes) -> None:
        try:
            with self._sending:
                if len(data) <= _RECEIVE:
                    self._socket.sendall(data)
                else:
                    self._send_large(memoryview(data))
        except OSError as e:
            self.fail(Unavailable(f"the connection is lost: {e.strerror or e}"))
            raise _NotSent(str(self.failure)) from e

    def _send_large(self, data: memoryview) -> None:
        """Sends and reads: a daemon stops reading from who takes nothing of what it has answered."""
        while data:
            try:
                data = data[self._socket.send(data, socket.MSG_DONTWAIT) :]
                continue
            except BlockingIOError:
                pass
            readable, _, _ = select.select([self._socket], [self._socket], [], 1.0)
            if readable and self._reading.acquire(blocking=False):
                try:
                    self._receive()
                finally:
                    self._done_reading()

    def quick(self, method: int, payload: bytes, deadline_ms: int) -> bytes | _Call | None:
        """Makes a call while nobody else reads, whose answer is likely what comes next.

        It returns the answer, or the call if something else came, or None if nothing was sent:
        then it goes as all others do. It makes no more of a call than it must, since that is what
        a call takes but for the daemon: bench/clients measures it.
        """
        now = time.monotonic()
        if len(payload) > _RECEIVE or now - self._heard > _IDLE or not self._reading.acquire(False):
            return None
        try:
            calls = self._calls
            if self.failure is not None or calls.partial:
                return None
            id = calls.next_id()
            self.send(_pack(len(payload), id, method, _frames.END, deadline_ms) + payload)
            try:
                data = self._soon()
            except BlockingIOError:
                return self._opened(id)
            except OSError as e:
                call = self._opened(id)
                self.fail(Unavailable(f"the connection is lost: {e.strerror or e}"))
                return call
            except BaseException:
                self.send(_frames.frame(id, flags=_frames.CANCEL))
                raise
            size = len(data)
            if size >= _HEADER_SIZE:
                length, answered, _, flags, _ = _unpack(data)
                if answered == id and flags == _frames.END and _HEADER_SIZE + length == size:
                    self._heard = now
                    return data[_HEADER_SIZE:]
            call = self._opened(id)
            self._received(data)
            return call
        finally:
            self._done_reading()

    def _soon(self) -> bytes:
        """Receives what comes. A daemon answers a get sooner than a process that sleeps is woken."""
        receive = self._socket.recv
        for _ in range(_LOOKS):
            try:
                return receive(_RECEIVE, socket.MSG_DONTWAIT)
            except BlockingIOError:
                pass
        return receive(_RECEIVE)

    def _opened(self, id: int) -> _Call:
        with self._opening:
            return self._calls.opened(id)

    def wait(self, call: _Call, until: float | None) -> None:
        """Returns when a call has news."""
        while not call.news:
            self._wait(call, until, lambda: call.news)

    def wait_for_credit(self, call: _Call, until: float | None) -> None:
        """Returns when a call may send, or has ended."""
        while call.credit <= 0 and not call.ended:
            self._wait(call, until, lambda: call.credit > 0 or call.ended)

    def _wait(self, call: _Call, until: float | None, done: Callable[[], bool]) -> None:
        """Reads until something is done, or waits for a while for who reads."""
        if self._reading.acquire(blocking=False):
            try:
                while not done():
                    self._receive()
                    self._check(until, done)
            finally:
                self._done_reading()
            return
        waiter = threading.Event()
        call.waiters.append(waiter)
        self._waiting.add(waiter)
        try:
            if self._reading.locked() and not done():
                waiter.wait(1.0)
        finally:
            self._waiting.discard(waiter)
            call.waiters.remove(waiter)
        self._check(until, done)

    def _check(self, until: float | None, done: Callable[[], bool]) -> None:
        if until is not None and time.monotonic() > until and not done():
            self.fail(DeadlineExceeded("the daemon does not answer"))

    def lives(self) -> bool:
        """Whether the daemon has not hung up, as far as is known. Nobody reads while nobody waits."""
        if self.failure is None and time.monotonic() - self._heard > _IDLE and self._reading.acquire(blocking=False):
            try:
                self._receive(socket.MSG_DONTWAIT)
                self._heard = time.monotonic()
            finally:
                self._done_reading()
        return self.failure is None

    def _receive(self, flags: int = 0) -> None:
        try:
            data = self._socket.recv(_RECEIVE, flags)
        except BlockingIOError:
            return
        except OSError as e:
            return self.fail(Unavailable(f"the connection is lost: {e.strerror or e}"))
        self._received(data)

    def _received(self, data: bytes) -> None:
        if not data:
            return self.fail(Unavailable("the daemon has hung up"))
        self._heard = time.monotonic()
        try:
            woken = self._calls.receive(data)
        except (Error, _frames.ProtocolError) as e:
            return self.fail(e if isinstance(e, Error) else Unavailable(str(e)))
        self._wake(woken)

    def _done_reading(self) -> None:
        """Has one of those who wait read on."""
        self._reading.release()
        if self._waiting:
            for waiter in tuple(self._waiting):
                waiter.set()
                break

    def fail(self, failure: Error) -> None:
        with self._opening:
            if self.failure is None:
                self.failure = failure
            calls = self._calls.fail(failure)
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._wake(calls)

    def _wake(self, calls: list[_Call]) -> None:
        for call in calls:
            for waiter in tuple(call.waiters):
                waiter.set()

    def close(self) -> None:
        self.fail(Unavailable("the client is closed"))
        self._socket.close()


class Client(Services):
    """A connection to a daemon, made when it is first needed, and again when it was lost.

    ``path`` is its socket. A call takes at most ``timeout`` seconds unless it says otherwise;
    streams take what they take. A call that is refused since the daemon is busy was not
    begun, and is made again until its time is over.
    """

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = 60.0) -> None:
        self.path = os.fspath(path)
        self.timeout = timeout
        self._connection: _Connection | None = None
        self._connecting = threading.Lock()
        super().__init__(self)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends all calls, and the connection."""
        with self._connecting:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _connected(self) -> _Connection:
        connection = self._connection
        if connection is not None and connection.lives():
            return connection
        with self._connecting:
            connection = self._connection
            if connection is None or not connection.lives():
                if connection is not None:
                    connection.close()
                self._connection = connection = _Connection(self.path, self.timeout)
            return connection

    def _unary(self, method: Method) -> Callable[..., Any]:
        parse, message, number = method.response.FromString, method.message, method.number

        def call(request: Any = None, /, *, timeout: float | None = None, **fields: Any) -> Any:
            payload = message(request, fields)
            if timeout is None:
                timeout = self.timeout
            call, connection = None, self._connection
            if connection is not None:
                try:
                    quick = connection.quick(number, payload, int(timeout * 1000) or 1)
                    if isinstance(quick, bytes):
                        return parse(quick)
                    call = quick
                except _NotSent:
                    connection = None
            return parse(self._patiently(number, payload, timeout, connection, call))

        return call

    def _patiently(self, number: int, payload: bytes, seconds: float, connection: _Connection | None, call: _Call | None) -> bytes:
        """Makes a call, or takes the answer of one that was sent on a connection; again while the daemon is busy."""
        until, pause = time.monotonic() + seconds, 0.001
        while True:
            try:
                return self._once(number, payload, seconds, until + _GRACE, connection, call)
            except ResourceExhausted as e:
                if e.kind != "BUSY" or time.monotonic() + pause >= until:
                    raise
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause, seconds = min(2 * pause, 0.1), max(until - time.monotonic(), 0.001)
            connection = call = None

    def _once(self, number: int, payload: bytes, seconds: float, until: float, connection: _Connection | None, call: _Call | None) -> bytes:
        if connection is None or call is None:
            try:
                connection, call = self._sent(number, payload, seconds)
            except _NotSent:
                connection, call = self._sent(number, payload, seconds)
        try:
            connection.wait(call, until)
        except BaseException:
            connection.send(_frames.frame(call.id, flags=_frames.CANCEL))
            raise
        if call.failure is not None:
            raise call.failure
        return call.messages.popleft() if call.messages else b""

    def _sent(self, number: int, payload: bytes, seconds: float) -> tuple[_Connection, _Call]:
        connection = self._connected()
        call = connection.open()
        connection.send(_frames.frame(call.id, payload, method=number, flags=_frames.END, deadline_ms=max(1, int(seconds * 1000))))
        return connection, call

    def _server_stream(self, method: Method) -> Callable[..., Iterator[Any]]:
        def call(request: Any = None, /, *, timeout: float | None = None, **fields: Any) -> Iterator[Any]:
            return self._answers(method, method.message(request, fields), timeout)

        return call

    def _answers(self, method: Method, payload: bytes, timeout: float | None) -> Iterator[Any]:
        stream = Stream(self._connected(), method, timeout)
        stream._begin(payload, _frames.END)
        try:
            yield from stream
        finally:
            stream.close()

    def _both_streams(self, method: Method) -> Callable[..., Stream]:
        def call(*, timeout: float | None = None) -> Stream:
            return Stream(self._connected(), method, timeout)

        return call

    def _client_stream(self, method: Method) -> Callable[..., Any]:
        def call(requests: Iterable[Any], /, *, timeout: float | None = None) -> Any:
            with Stream(self._connected(), method, timeout) as stream:
                for request in requests:
                    if stream.ended:
                        break
                    stream.send(request)
                stream.end()
                answers = list(stream)
                return answers[0] if answers else method.response()

        return call


class Stream:
    """A call of many messages. Iterate over it for what the daemon answers, and close it."""

    def __init__(self, connection: _Connection, method: Method, timeout: float | None) -> None:
        self._connection, self._method = connection, method
        self._deadline = 0 if timeout is None else max(1, int(timeout * 1000))
        self._until = None if timeout is None else time.monotonic() + timeout + _GRACE
        self._call = connection.open()
        self._begun = self._finished = False

    @property
    def ended(self) -> bool:
        """Whether the daemon has ended it; there may be answers left."""
        return self._call.ended

    def _begin(self, payload: bytes, flags: int) -> None:
        self._begun = True
        self._finished = bool(flags & _frames.END)
        self._connection.send(_frames.frame(self._call.id, payload, method=self._method.number, flags=flags, deadline_ms=self._deadline))

    def send(self, request: Any) -> None:
        """Sends a message. It waits while the daemon has not taken those before."""
        payload = request.SerializeToString()
        paced = self._connection.greeting.client_window > 0
        if paced:
            self._connection.wait_for_credit(self._call, self._until)
        if self._call.ended:
            return
        self._call.credit -= len(payload) + _frames.PACED_COST
        if not self._begun:
            self._begin(payload, _frames.PACED if paced else 0)
        else:
            self._connection.send(_frames.frame(self._call.id, payload))

    def end(self) -> None:
        """Says that no more messages follow."""
        if self._finished or self._call.ended:
            return
        if not self._begun:
            return self._begin(b"", _frames.END)
        self._finished = True
        self._connection.send(_frames.frame(self._call.id, flags=_frames.END))

    def __iter__(self) -> Generator[Any, None, None]:
        call, window, parse = self._call, self._connection.greeting.window, self._method.response.FromString
        while True:
            self._connection.wait(call, self._until)
            while call.messages:
                payload = call.messages.popleft()
                call.taken += len(payload)
                if call.taken >= window // 2 and not call.ended:
                    self._connection.send(_frames.credit(call.id, call.taken))
                    call.taken = 0
                yield parse(payload)
            if call.ended and not call.messages:
                if call.failure is not None:
                    raise call.failure
                return

    def close(self) -> None:
        """Gives the call up, if it has not ended."""
        if not self._call.ended and self._begun and self._connection.failure is None:
            with contextlib.suppress(Error):
                self._connection.send(_frames.frame(self._call.id, flags=_frames.CANCEL))
        self._call.messages.clear()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
