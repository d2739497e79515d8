"""A client of the frames, STO1, with nothing but the standard library: put, get,
scan with credit, and a typed error. frames.py SOCKET
"""
import socket
import struct
import sys

HEADER = struct.Struct("<IQHBI")  # length, id, method, flags, deadline in ms
GET, APPLY, SCAN, GENERIC, GROUP = 101, 103, 104, 10, 11
END, ERROR, CANCEL, CREDIT = 1, 2, 4, 8


def uvarint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes(out) + bytes([n])


def part(b):
    return uvarint(len(b)) + b


def number(b, at):
    n = shift = 0
    while True:
        n |= (b[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if b[at - 1] < 0x80:
            return n, at


def fields(b):
    """The fields of a protobuf message that are numbers or bytes."""
    at, out = 0, {}
    while at < len(b):
        tag, at = number(b, at)
        value, at = number(b, at)
        if tag & 7 == 2:
            value, at = b[at : at + value], at + value
        out.setdefault(tag >> 3, value)
    return out


class Stoa:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.sendall(b"STO1")
        self.last, self.stream = 0, self.socket.makefile("rb")
        assert self.stream.read(4) == b"STO1"
        calls, message, self.window = struct.unpack_from("<III", self.receive()[2])

    def receive(self):
        length, call, _, flags, _ = HEADER.unpack(self.stream.read(HEADER.size))
        return call, flags, self.stream.read(length)

    def call(self, method, request):
        """The messages of the answer, one at a time."""
        self.last += 1
        self.socket.sendall(HEADER.pack(len(request), self.last, method, END, 5000) + request)
        while True:
            call, flags, payload = self.receive()
            if flags & ERROR:
                raise RuntimeError(payload)
            if not flags & END or payload or method in (GET, APPLY):
                yield payload
            if flags & END:
                return
            self.socket.sendall(HEADER.pack(4, call, 0, CREDIT, 0) + struct.pack("<I", len(payload)))


def put(stoa, column, key, value):
    ops = bytes(8) + struct.pack("<I", 1) + bytes([5, column]) + part(key) + part(value)
    next(stoa.call(APPLY, b"\x0a" + part(ops)))


def get(stoa, column, key):
    return fields(next(stoa.call(GET, b"\x08" + uvarint(column) + b"\x12" + part(key)))).get(1)


stoa, scope = Stoa(sys.argv[1]), b"stoa.test".ljust(16, b"\0")
for i in range(3000):
    put(stoa, GENERIC, scope + b"%04d" % i, b"v" * 1000)
assert get(stoa, GENERIC, scope + b"0007") == b"v" * 1000
assert get(stoa, GENERIC, scope + b"none") is None
count = sum(fields(page)[2] for page in stoa.call(SCAN, b"\x08\x0a\x22" + part(scope)))
assert count == 3000, count
try:
    get(stoa, GROUP, b"\x20\x01")
    raise SystemExit("a bad key was taken")
except RuntimeError as e:
    assert b"google.rpc.ErrorInfo" in e.args[0] and b"GroupMeta" in e.args[0], e
print("python: ok")
