"""Calls of one connection, without I/O: who is waiting, and for what."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from . import _frames
from .errors import Error, Unavailable, from_status

Waiter = TypeVar("Waiter")


class Call(Generic[Waiter]):
    """What has come for a call and was not taken. ``waiters`` are woken when something comes."""

    __slots__ = ("credit", "ended", "failure", "id", "messages", "taken", "waiters")

    def __init__(self, call: int, credit: int = 0) -> None:
        self.id = call
        self.messages: deque[bytes] = deque()
        self.ended = False
        self.failure: Error | None = None
        self.credit = credit  # bytes that a paced stream may send; may be less than 0 once
        self.taken = 0  # bytes that were taken and for which no credit was given
        self.waiters: list[Waiter] = []

    @property
    def news(self) -> bool:
        return bool(self.messages) or self.ended


class Calls(Generic[Waiter]):
    """The calls under way."""

    def __init__(self) -> None:
        self.greeting: _frames.Greeting | None = None
        self._decoder = _frames.Decoder()
        self._magic = b""
        self._open: dict[int, Call[Waiter]] = {}
        self.next_id: Callable[[], int] = itertools.count(1).__next__  # by any thread

    def open(self) -> Call[Waiter]:
        """A new call, which is one under way until it has ended."""
        return self.opened(self.next_id())

    def opened(self, id: int) -> Call[Waiter]:
        """A call of an id that next_id has given."""
        call: Call[Waiter] = Call(id, self.greeting.client_window if self.greeting else 0)
        self._open[id] = call
        return call

    @property
    def partial(self) -> bool:
        """Whether a part of a frame has come."""
        return self._decoder.partial

    def receive(self, data: bytes) -> list[Call[Waiter]]:
        """Takes what was received, and returns the calls that something has come for."""
        if len(self._magic) < 4:
            data = self._magic + data
            self._magic, data = data[:4], data[4:]
            if not _frames.MAGIC.startswith(self._magic):
                raise Unavailable("the socket is no Stoa daemon's, or one's that speaks no frames")
        woken = []
        for id, flags, payload in self._decoder.feed(data):
            if id == 0:
                self._said(flags, payload)
                continue
            call = self._open.get(id)
            if call is None:
                continue
            if flags & _frames.CREDIT:
                call.credit += _frames.credited(payload)
            elif flags & _frames.ERROR:
                call.failure = from_status(payload)
            elif payload or not flags & _frames.END:
                call.messages.append(payload)
            if flags & _frames.END:
                call.ended = True
                del self._open[id]
            woken.append(call)
        return woken

    def _said(self, flags: int, payload: bytes) -> None:
        if flags & _frames.ERROR:
            raise from_status(payload)
        if self.greeting is None:
            self.greeting = _frames.Greeting.parse(payload)

    def fail(self, failure: Error) -> list[Call[Waiter]]:
        """Ends all calls: the connection is gone."""
        calls = list(self._open.values())
        self._open.clear()
        for call in calls:
            call.failure, call.ended = failure, True
        return calls
