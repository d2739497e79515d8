"""The programs of examples run."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

from conftest import Daemon

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"


def test_election(daemon: Daemon) -> None:
    command = [sys.executable, str(EXAMPLES / "election.py"), daemon.socket]
    both = [subprocess.Popen([*command, name, "0"], stdout=subprocess.PIPE, text=True) for name in ("one", "two")]
    said = [p.communicate(timeout=60)[0] for p in both]
    assert [p.returncode for p in both] == [0, 0], said
    tokens = [re.findall(r"leads with token (\d+)", text) for text in said]
    assert all(len(t) == 1 for t in tokens) and tokens[0] != tokens[1], said
