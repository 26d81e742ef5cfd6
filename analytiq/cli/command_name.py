"""The command that starts this program again from the present directory."""

import shlex
import shutil
import sys
from pathlib import Path

NAME = "analytiq"


def command_name() -> str:
    """Return the command that starts this program from the present directory: its name if it is on the PATH."""
    started = Path(sys.argv[0])
    found = shutil.which(NAME)
    if started.name != NAME:
        return f"{shlex.quote(sys.executable)} -m analytiq.cli"
    if found is not None and Path(found).resolve() == started.resolve():
        return NAME
    below, here = started.absolute(), Path.cwd()
    return shlex.quote(str(below.relative_to(here) if below.is_relative_to(here) else below))
