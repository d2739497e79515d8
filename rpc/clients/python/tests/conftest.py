"""A daemon for tests: that of STOA, or of bin/stoa of the repository."""

from __future__ import annotations

import os
import pathlib
import subprocess
import tempfile
import time
from collections.abc import Iterator

import pytest

import stoa

REPOSITORY = pathlib.Path(__file__).resolve().parents[4]


class Daemon:
    """A daemon, which can be stopped and started anew."""

    def __init__(self, engine: str = "mem") -> None:
        self._engine = engine
        self._dir = tempfile.TemporaryDirectory(prefix="stoa-")
        self.socket = self._dir.name + "/data/stoa.sock"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        program = os.environ.get("STOA", str(REPOSITORY / "bin/stoa"))
        log = open(self._dir.name + "/log", "ab")  # noqa: SIM115
        self._process = subprocess.Popen([program, "serve", "--engine", self._engine, "--dir", self._dir.name + "/data"], stdout=log, stderr=log)
        until = time.monotonic() + 60
        while time.monotonic() < until and self._process.poll() is None:
            try:
                with stoa.Client(self.socket) as client:
                    client.admin.status()
                return
            except stoa.Unavailable:
                time.sleep(0.01)
        raise RuntimeError(pathlib.Path(self._dir.name, "log").read_text())

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    def close(self) -> None:
        self.stop()
        self._dir.cleanup()


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    d = Daemon()
    try:
        d.start()
        yield d
    finally:
        d.close()


@pytest.fixture
def client(daemon: Daemon) -> Iterator[stoa.Client]:
    with stoa.Client(daemon.socket) as c:
        yield c
