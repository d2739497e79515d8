"""A session in Python: put, get, scan, and a typed error.

smoke.py SOCKET DESCRIPTORS, where DESCRIPTORS is a FileDescriptorSet of the
protocol. Generated modules do the same with less.
"""
import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

socket, descriptors = sys.argv[1:]
pool = descriptor_pool.DescriptorPool()
with open(descriptors, "rb") as f:
    for file in descriptor_pb2.FileDescriptorSet.FromString(f.read()).file:
        pool.Add(file)


def message(name):
    found = pool.FindMessageTypeByName(name)
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(found)
    return message_factory.MessageFactory(pool).GetPrototype(found)


def call(kind, method, request, response):
    return getattr(channel, kind)(
        "/stoa.v1." + method,
        request_serializer=message("stoa.v1." + request).SerializeToString,
        response_deserializer=message("stoa.v1." + response).FromString,
    )


# gRPC's C core sends the socket's path as :authority, which this daemon takes.
channel = grpc.insecure_channel("unix:" + socket)
apply = call("unary_unary", "Store/Apply", "ApplyRequest", "ApplyResponse")
get = call("unary_unary", "Store/Get", "GetRequest", "GetResponse")
scan = call("unary_stream", "Store/Scan", "ScanRequest", "ScanResponse")
GENERIC, GROUP = 10, 11


def uvarint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes(out) + bytes([n])


def part(b):
    return uvarint(len(b)) + b


def puts(rows):
    ops = bytes(8) + len(rows).to_bytes(4, "little")
    for column, key, value in rows:
        ops += bytes([5, column]) + part(key) + part(value)
    return message("stoa.v1.ApplyRequest")(ops=ops)


def entries(page):
    at = 0

    def cut():
        nonlocal at
        n = shift = 0
        while True:
            b = page[at]
            at += 1
            n |= (b & 0x7F) << shift
            shift += 7
            if b < 0x80:
                break
        at += n
        return page[at - n : at]

    while at < len(page):
        yield cut(), cut()


scope = b"stoa.test".ljust(16, b"\0") + b"python"
rows = [(GENERIC, scope + b"%04d" % i, b"v%d" % i) for i in range(2000)]
apply(puts(rows), timeout=10)
assert get(message("stoa.v1.GetRequest")(column=GENERIC, key=rows[7][1]), timeout=10).value == b"v7"
assert not get(message("stoa.v1.GetRequest")(column=GENERIC, key=scope), timeout=10).HasField("value")
seen = []
for page in scan(message("stoa.v1.ScanRequest")(column=GENERIC, prefix=scope), timeout=10):
    seen += entries(page.entries)
assert seen == [(k, v) for _, k, v in rows], len(seen)

try:
    apply(puts([(GROUP, b"\x20\x01\x02", b"")]), timeout=10)
    raise SystemExit("a key of three bytes was taken")
except grpc.RpcError as e:
    assert e.code() == grpc.StatusCode.INVALID_ARGUMENT, e
    status = message("google.rpc.Status").FromString(dict(e.trailing_metadata())["grpc-status-details-bin"])
    info = message("google.rpc.ErrorInfo").FromString(status.details[0].value)
    assert (info.domain, info.reason, info.metadata["type"]) == ("stoa", "KEY", "GroupMeta"), info
print("python: ok")
