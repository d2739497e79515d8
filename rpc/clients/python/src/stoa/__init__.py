"""A client of Stoa, the storage daemon: see README.md.

``Client`` blocks, ``stoa.aio.Client`` is for asyncio; both have the services of the protocol
as attributes, whose methods take the fields of a request by name, and answer messages.
"""

from .client import Client, Stream
from .errors import (
    Aborted,
    AlreadyExists,
    Cancelled,
    DataLoss,
    DeadlineExceeded,
    Error,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    NotFound,
    OutOfRange,
    PermissionDenied,
    ResourceExhausted,
    Unavailable,
    Unimplemented,
    Unknown,
)  # fmt: skip

__all__ = [
    "Aborted", "AlreadyExists", "Cancelled", "Client", "DataLoss", "DeadlineExceeded", "Error", "FailedPrecondition", "Internal",
    "InvalidArgument", "NotFound", "OutOfRange", "PermissionDenied", "ResourceExhausted", "Stream", "Unavailable", "Unimplemented",
    "Unknown",
]  # fmt: skip
