"""What services are made of: methods that know their number and their messages."""

from __future__ import annotations

from typing import Any

from . import messages


class Method:
    """A method of a service; of an instance of the service it is what calls it."""

    kind = ""

    def __init__(self, name: str, number: int, request: str, response: str) -> None:
        self.name, self.number = name, number
        self._request, self._response = request, response

    def __set_name__(self, owner: type, name: str) -> None:
        self.attribute = name

    def __get__(self, service: Any, owner: type | None = None) -> Any:
        if service is None:
            return self
        self.request: Any = getattr(messages, self._request)
        self.response: Any = getattr(messages, self._response)
        bound = getattr(service._client, self.kind)(self)
        bound.__name__ = self.attribute
        bound.__qualname__ = self.name
        # What was looked up once is found without this: it is no data descriptor.
        service.__dict__[self.attribute] = bound
        return bound

    def message(self, request: Any, fields: dict[str, Any]) -> bytes:
        """The bytes of a request: of one that is given, or of its fields."""
        if request is None:
            request = self.request(**fields)
        elif fields:
            raise TypeError(f"{self.name} takes a {self.request.__name__} or its fields, not both")
        return request.SerializeToString()  # type: ignore[no-any-return]


class Unary(Method):
    """One request, one answer."""

    kind = "_unary"


class ServerStream(Method):
    """One request, a stream of answers."""

    kind = "_server_stream"


class ClientStream(Method):
    """A stream of requests, one answer."""

    kind = "_client_stream"


class BothStreams(Method):
    """Streams both ways."""

    kind = "_both_streams"


class Service:
    """The methods of a service, bound to a client."""

    def __init__(self, client: Any) -> None:
        self._client = client
