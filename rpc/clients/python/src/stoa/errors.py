"""What a daemon refuses, and what becomes of a connection.

Branch on the class, or on :attr:`Error.kind` where that says more; never on the text.
rpc/README.md, "Errors", lists the kinds and their fields.
"""

from __future__ import annotations

from ._status import Status


class Error(Exception):
    """A call that failed."""

    code = 2  # as gRPC numbers them

    def __init__(self, message: str, kind: str = "", fields: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.message = message
        #: What sort of refusal it is, such as ``CONFLICT`` or ``KV_QUOTA``; empty: not one of Stoa's.
        self.kind = kind
        #: What the refusal is about, such as ``column`` and ``key``; keys are in hex, numbers in decimal.
        self.fields = fields or {}

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}" if self.kind else self.message


class Cancelled(Error):
    """The caller gave it up."""

    code = 1


class Unknown(Error):
    """Something else."""


class InvalidArgument(Error):
    """What was asked for is wrong in itself; the fields say where."""

    code = 3


class DeadlineExceeded(Error):
    """It took too long. A write may or may not have been made."""

    code = 4


class NotFound(Error):
    """There is no such thing."""

    code = 5


class AlreadyExists(Error):
    """There is one already."""

    code = 6


class PermissionDenied(Error):
    """Who asks may not do that."""

    code = 7


class ResourceExhausted(Error):
    """A quota, a limit or the disk is full. ``BUSY`` passes: nothing was done, ask again."""

    code = 8


class FailedPrecondition(Error):
    """As things stand it can't be done."""

    code = 9


class Aborted(Error):
    """Somebody else was first: what was expected did not hold, and nothing was done."""

    code = 10


class OutOfRange(Error):
    """What was asked for is no longer kept."""

    code = 11


class Unimplemented(Error):
    """This daemon does not know that."""

    code = 12


class Internal(Error):
    """A defect of the daemon, whose log has more under the field ``incident``."""

    code = 13


class Unavailable(Error):
    """There is no daemon, or no connection any more. A write may or may not have been made."""

    code = 14


class DataLoss(Error):
    """The store is damaged."""

    code = 15


_BY_CODE: dict[int, type[Error]] = {
    c.code: c
    for c in (
        Cancelled, Unknown, InvalidArgument, DeadlineExceeded, NotFound, AlreadyExists, PermissionDenied, ResourceExhausted,
        FailedPrecondition, Aborted, OutOfRange, Unimplemented, Internal, Unavailable, DataLoss,
    )
}  # fmt: skip


def from_status(payload: bytes) -> Error:
    """The error that the payload of an error frame, a google.rpc.Status, stands for."""
    status = Status.parse(payload)
    return _BY_CODE.get(status.code, Unknown)(status.message, status.reason, status.metadata)
