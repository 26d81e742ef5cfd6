"""Processes that hold keys show their memory to no other process of the same user, unless they are to be debugged."""

import os
import subprocess
import sys

import pytest

PROGRAM = (
    "import ctypes, importlib, sys\n"
    "code = importlib.import_module(sys.argv[1]).main()\n"
    "print(code, ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))\n"  # PR_GET_DUMPABLE
)


@pytest.mark.parametrize(("debuggable", "dumpable"), [("false", "0"), ("true", "1")])
@pytest.mark.parametrize("module", ["api.__main__", "workers.__main__", "reconciler.__main__"])
def test_process_closes_its_memory_before_it_connects(module: str, debuggable: str, dumpable: str) -> None:
    # Without an address of MongoDB it ends at once, with code 1.
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.defpath, "ANALYTIQ_DEBUGGABLE": debuggable}
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, module], env=environment, capture_output=True, text=True, check=True
    )
    assert ended.stdout.split() == ["1", dumpable]
    assert "MONGODB_URI" in ended.stderr
