"""The programs of README.md run, one after the other, against a daemon."""

from __future__ import annotations

import pathlib
import re

from conftest import Daemon


def test_readme(daemon: Daemon) -> None:
    readme = (pathlib.Path(__file__).parent.parent / "README.md").read_text()
    programs = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    assert len(programs) == 4
    for program in programs:
        exec(compile(program.replace("stoa-data/stoa.sock", daemon.socket), "README.md", "exec"), {"__name__": "readme"})
